/** Generated from the API document by dev/release/client.ts: do not edit. */
export interface paths {
    "/v1/coins": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The coins
         * @description List coins with a summary of their recordings. Needs no key.
         */
        get: operations["listCoins"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List markets of a coin
         * @description Newest window first. `source` selects recorded markets, simulated markets, or `all`. A market with an unknown window is sorted, and filtered by `from` and `to`, by its first snapshot. With `status`, a market may be missed if its status changes while you page.
         */
        get: operations["listMarkets"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One market
         * @description Facts of a market, with the amount and coverage of its recordings. To find a market by the venue's slug, use GET /v1/{coin}/markets?slug=.
         */
        get: operations["getMarket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/coverage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the coverage of a market
         * @description For each outcome, the intervals that are recorded and the gaps, with their reasons. A snapshot holds until the next one. If the next one is more than `silenceMs` later, the time after the snapshot counts as a gap, because a quiet book cannot be told from a missed one. Recordings often begin before the window; if so, the time of the market does too.
         */
        get: operations["getMarketCoverage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/coverage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the coverage of a coin by day
         * @description One entry for each UTC day, including days without markets. A market belongs to the day on which its window begins, and only its window counts. A market with an unknown window belongs to the day of its first snapshot and counts as `window_unknown` only. Past days may be cached for a minute.
         */
        get: operations["listCoverage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/days": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the completeness of days
         * @description State of each UTC day and kind of data, with the reasons and the time since when it holds. Windows that settle on candles of Binance do not count in `settlements`, unless there are no others. Past days may be cached for a minute.
         */
        get: operations["listDays"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/settlement": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the settlement of a market
         * @description The settlement rule, the recorded prices at both ends of the window, the winner by these prices, and whether the market's result agrees. If a price is missing, there is no proof, and `reason` says why.
         */
        get: operations["getSettlement"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/settlements": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List settlements of a coin
         * @description Ended windows of a coin, newest first, each as in GET …/{conditionId}/settlement. `agreement=disagrees` lists those whose result contradicts recorded prices.
         */
        get: operations["listSettlements"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/incidents": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List outages of recorder and venue
         * @description When nothing was recorded, why, and which markets were affected; also as an Atom feed, with `format=atom`. Derived from gaps of recorded markets: a gap of a single market is in its coverage only. Outages of less than five seconds are left out. Needs no key.
         */
        get: operations["listIncidents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List order books of a market
         * @description Full-depth order books by `timestamp`, then by `id`, best level first. Follow `nextCursor` until it is `null`: paging neither repeats nor skips rows that existed when it began, even while rows are being written. To follow an open market, resume from `X-Resume-Cursor`. Send `Accept-Encoding: gzip`: pages are stored compressed, about 90 bytes a snapshot instead of 3,000. `depth`, `interval` and `fields` reduce the response.
         */
        get: operations["listSnapshots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/changes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Changes of a market's order books
         * @description Every state of `…/snapshots` as the levels in which it differs from the state before it of its outcome. A row with `snapshot: true` has the whole book: the first of each outcome, the first after a gap, at a finer tick, and where a late state came in between; any other changes the state `prevId`. Set each level to its size, or remove it if that is 0: the result is the snapshot `id`, digit for digit. Follow `nextCursor` until it is `null`; resume from `X-Resume-Cursor`, which also knows the books you have.
         */
        get: operations["listChanges"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/snapshots/at": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the order books as of a moment
         * @description Returns the last snapshot of each outcome at or before `ts`, with its age; a later snapshot is never used. If `ts` is in a gap or after the expiry, that snapshot is still returned and `X-Coverage` shows the gap. An outcome without a snapshot by then, or with none within `maxAgeMs`, is left out. If no outcome remains, the answer is a 404 that says why.
         */
        get: operations["getSnapshotsAt"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/snapshots/at": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get order books as of up to 500 moments
         * @description Results are in the order of the request, and each is what `GET …/snapshots/at` would return: an entry that fails carries its own error and does not affect the others. The batch counts as one request of the rate limit. If an entry is malformed, the whole batch is refused with the index of that entry.
         */
        post: operations["listSnapshotsAt"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/fill": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Simulate a fill
         * @description Executes a market order, or a limit order with `limitPrice`, against the book at `matchedAt`: `ts`, plus `latencyMs`, plus the delay of the venue for taker orders at that time. A later book is never used. Fees are those of the market at `ts`. `fees=none` and `delay=0` leave them out; the response states the values used. Arithmetic is exact; amounts are rounded only when printed. The impact of the order on the market is not modelled.
         */
        get: operations["getFill"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/fill/resting": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Simulate a resting order
         * @description A lower and an upper bound of the fill of a limit order that rests at `price` between `from` and `until`, with times. Computed from trades through the price, and from trades at the price after the queue ahead; not from shrinking depth, because orders may be cancelled. A trade of the other outcome at p counts as a trade of this outcome at 1 − p with the opposite side. Trades in the millisecond in which the order arrives count in `upper` only. `doubts` lists what the data cannot show. Also needs a tier with `prices`, as trades do.
         */
        get: operations["getRestingFill"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/quotes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List best bid and ask over time
         * @description Without `interval`: every change of best bid, best ask or their sizes, beginning with the first state of each outcome in the range. With `interval`: the prevailing state at each step; a later state is never used. A step has no row where the prevailing state is unknown: in a gap, before the first state, and once both the window and the last state have passed. So an interval longer than the market often returns no rows. On an open market, a step is returned once a later state of each requested outcome is recorded. Follow `nextCursor` until it is null; to resume later, use `X-Resume-Cursor`.
         */
        get: operations["listQuotes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Prices now
         * @description All open markets of the coin, with the last state of both outcomes and the last trade. A market whose window has ended is left out; a market with an unknown window is listed until its history is closed. Send the `ETag` as `If-None-Match` to get a 304 until a state or trade is recorded, or a market opens or closes.
         */
        get: operations["listCurrentPrices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/prices": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List prices of a market
         * @description Without `interval`: one row for each state in which the mid or the last trade changed, beginning with the first state of each outcome in the range. With `interval`: bars with open, high, low and close of the mid, over states that are both in the range and in the step; a step without a state has no bar. `from` and `to` need not be multiples of the interval: a bar at the edge uses the states inside the range only, and its `covered` is below 1. The last bars of an open market may still change: `X-Resume-Cursor` lies before them, so they are returned again.
         */
        get: operations["listPrices"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/board": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List all open windows
         * @description Every open window of the coins of your tier: times, strike, spot price, settlement average so far, best prices, depth, volume, recording status and price history. Updated up to four times a second. For a stream of changes, use GET /v1/board/live. A market whose window is unknown is listed until its history is closed. A window with damaged data has null in the affected members and the recording status `damaged`. `X-Coverage` covers all windows together, except damaged ones.
         */
        get: operations["getBoard"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/board/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream changes of the board
         * @description Server-sent events. The `data` of a `board` event is an object: `time`, when the event was made; `data`, the changed rows of GET /v1/board without `history`; and `closed`, the condition ids of windows that have closed. The first event has every row. After five seconds without a change, an event without rows is sent. At most two events a second are sent: a row that changed several times is sent once, in its latest state, and a slow reader skips the states in between. The `end` event is the same as in GET /v1/{coin}/live. A connection that reads nothing for 60 seconds is closed. The stream counts as an export, and towards the limit of /v1/stream connections.
         */
        get: operations["followBoard"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/trades": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List trades of a market
         * @description Every trade that the venue announced while the market was recorded. Imported last-trade prices are not trades: see `lastTrade` of prices. Trades during a gap are missing, because the venue announces each trade only once.
         */
        get: operations["listTrades"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/panel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get every market at offsets before its expiry
         * @description One row for each market and offset: the state that prevails at that moment before the expiry, and the winning outcome; a later state is never used. A market is included once it has expired, so a row changes later only through a backfill or when its winner becomes known. A market with an unknown window is left out; if snapshots of it are recorded in the range, `X-Coverage` counts it as `window_unknown`. `X-Coverage` also counts the moments of windows that are not recorded, between `from`, the cursor or the first market, and the last market or, on the last page, `to`. Follow `nextCursor` until it is null; to resume later, use `X-Resume-Cursor`. `lastTrade` and `spot` belong to the routes of `prices`: for a tier without them, rows and tables lack these members.
         */
        get: operations["getPanel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/heatmap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a heat map of liquidity
         * @description Sizes of a book by price and time, from every recorded state: a state prevails until the next one, and only while the book is known. Sizes of levels in the same price bin are added up. `max` and `last` are exact, averages are rounded to hundredths. With `include=removed`, each column also has the sizes that were pulled and traded, exactly.
         */
        get: operations["getHeatmap"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a market
         * @description One stream of any length, sent as fast as you read it. NDJSON holds the objects of `snapshots`, one per line; with `Accept-Encoding: gzip` it is sent as it is stored, about 90 bytes a snapshot. CSV and Parquet have `timestamp`, `id`, `conditionId`, `outcome`, then with `shape=levels` `side` (`bid` or `ask`), `level` (1 is the best), `price`, `size`, one row per level; a snapshot without any level is one row without a side. With `shape=states` they have `bid_price_1`, `bid_size_1` … `ask_price_1` … instead, one row per snapshot. With `shape=changes` they have `prev_id`, `outcome`, `received_at`, `verified`, `snapshot`, `side`, `price`, `size`, one row per level that changed (size 0 if it is gone), and NDJSON has the rows of `…/changes`, each with its `conditionId`. With `include=receivedAt` the time at which the recorder received the state comes last: `receivedAt`, or the column `received_at`; null or empty where it is not known. Where any market of the file is simulated, each row ends with its `source`, as a member or column. Parquet: times as TIMESTAMP, prices and sizes as DECIMAL(18,6). A connection that reads nothing for 60 seconds is closed. Resume an interrupted download with `after`.
         */
        get: operations["exportMarket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/export": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Export a coin by day
         * @description The markets of a day one after the other, oldest window first, each as in its own export. `X-Coverage` also counts windows that are not recorded: those of `timeframe`, or of each timeframe recorded on that day. One stream of any length, sent as fast as you read it. NDJSON holds the objects of `snapshots`, one per line; with `Accept-Encoding: gzip` it is sent as it is stored, about 90 bytes a snapshot. CSV and Parquet have `timestamp`, `id`, `conditionId`, `outcome`, then with `shape=levels` `side` (`bid` or `ask`), `level` (1 is the best), `price`, `size`, one row per level; a snapshot without any level is one row without a side. With `shape=states` they have `bid_price_1`, `bid_size_1` … `ask_price_1` … instead, one row per snapshot. With `shape=changes` they have `prev_id`, `outcome`, `received_at`, `verified`, `snapshot`, `side`, `price`, `size`, one row per level that changed (size 0 if it is gone), and NDJSON has the rows of `…/changes`, each with its `conditionId`. With `include=receivedAt` the time at which the recorder received the state comes last: `receivedAt`, or the column `received_at`; null or empty where it is not known. Where any market of the file is simulated, each row ends with its `source`, as a member or column. Parquet: times as TIMESTAMP, prices and sizes as DECIMAL(18,6). A connection that reads nothing for 60 seconds is closed. Resume an interrupted download with `after`.
         */
        get: operations["exportDay"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/markets/{conditionId}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream a market
         * @description Server-sent events (WHATWG HTML), as `EventSource` reads them. Unless the stream resumes from a cursor, it begins with `snapshot` events: the last row of each outcome; only the last of them has an `id`. Then each new row is a `row` event: `data` is the row as the channel's route returns it, and `id` is its cursor. `gap`: a gap began, changed or ended. A gap with the reason `replica_behind` is withdrawn once its rows have arrived: it then ends where it began. `market_open`, `market_update` (for example with the strike), `market_closed`, `market_resolved`: `data` is the market. `end` is the last event: your key or tier no longer includes the stream, or keys cannot be checked; `data` has `code` and `detail` of a problem document. Comment lines are heartbeats and padding. With `Accept-Encoding: gzip`, the events are one endless gzip member, flushed after each event: whole books (`snapshots` without `depth`) as stored, other rows as changes of the previous row. The stream counts as an export, and towards its limits. A connection that reads nothing for 60 seconds is closed; a slower reader gets every row later. `EventSource` cannot send `Authorization`: use `fetch`, and never put a key into a URL.
         */
        get: operations["followMarket"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Stream all open markets of a coin
         * @description Markets join the stream when they open, with `market_open` and then their last rows as `snapshot` events; they leave it when they are resolved. The `id` of an event is a position in every market, so after reconnecting you get all rows that were recorded in between, including those of markets that opened. In `quotes`, `prices` and `trades`, whose rows do not name their market, `conditionId` is the first member of `data`. Server-sent events (WHATWG HTML), as `EventSource` reads them. Unless the stream resumes from a cursor, it begins with `snapshot` events: the last row of each outcome; only the last of them has an `id`. Then each new row is a `row` event: `data` is the row as the channel's route returns it, and `id` is its cursor. `gap`: a gap began, changed or ended. A gap with the reason `replica_behind` is withdrawn once its rows have arrived: it then ends where it began. `market_open`, `market_update` (for example with the strike), `market_closed`, `market_resolved`: `data` is the market. `end` is the last event: your key or tier no longer includes the stream, or keys cannot be checked; `data` has `code` and `detail` of a problem document. Comment lines are heartbeats and padding. With `Accept-Encoding: gzip`, the events are one endless gzip member, flushed after each event: whole books (`snapshots` without `depth`) as stored, other rows as changes of the previous row. The stream counts as an export, and towards its limits. A connection that reads nothing for 60 seconds is closed; a slower reader gets every row later. `EventSource` cannot send `Authorization`: use `fetch`, and never put a key into a URL.
         */
        get: operations["followCoin"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/spot": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List reference prices of a coin
         * @description Prices that markets are settled by, as published by feeds: every recorded price, or bars. If the server has no source of prices, the list is empty and `reason` says so. Each source and averaging window is a separate series: select one with `source` and `window`. Markets of 5m, 15m and 4h settle on Chainlink's average of a minute, `window=60`.
         */
        get: operations["listSpot"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List files of whole days
         * @description Parquet files for each UTC day and timeframe. A day is final if all its windows have ended, their history is sealed, and every winner is known or three days have passed. Files never change: if data of a final day changes, another revision is made and listed beside the first. With `links`, each file of the newest revision has a link: a URL that needs no header until it expires. Empty if the operator makes no files.
         */
        get: operations["listFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/files/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file of a day
         * @description `Range` requests one range of bytes (206), and with `If-Range` only if the file is the same; several ranges return the whole file. DuckDB, pandas and polars use ranges to read only the columns that they need. A tier must include the routes of the same data: `snapshots` for every file, also `quotes` for `quotes`, and also `prices` for `trades` and `panel` (which has last trades).
         */
        get: operations["getFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/links/{link}/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Download a file by a link
         * @description The `link` of GET /v1/{coin}/files, for programs that send no header: DuckDB, polars, pandas, `curl -O`. A link belongs to the key that it was made with: its requests and bytes count towards the account, in a window of 3,000 requests a minute, and it ends with the key. `Range`, `If-Range`, `HEAD` and `ETag` work as for the file itself. If the file was replaced by another revision, the response is a 410 with a link to the new file.
         */
        get: operations["getLinkedFile"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/archive.sql": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get many days as one table in DuckDB
         * @description `CREATE OR REPLACE VIEW … AS SELECT * FROM read_parquet([…])` over links to the files of one kind of all days in a range, for `.read` and `duckdb.sql(text)`. DuckDB reads only the parts of each file that a query needs. The name of the view is the coin, the timeframe if there is one, and the kind, such as `btc_5m_quotes`.
         */
        get: operations["getArchiveSql"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sample/files": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Files of one day, without a key
         * @description All kinds of files of one day, each with a link that needs no key: the newest day of which every market is simulated, or the day that the operator opened (`BOOKFEED_SAMPLE_DAY`). Requests count as those of the sample, 120 a minute of one network address. Empty where there is none.
         */
        get: operations["listSampleFiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/revisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List changes of published data
         * @description Every later change of data that could have been served, with its reason: rows that arrived late or by an import, facts that became known or were corrected, gaps, and deletions. New data that extends a market while it is recorded is not a change. `completeSince` is the time since when changes are recorded; earlier changes are unknown. Keep `X-Resume-Cursor` to get later changes.
         */
        get: operations["listRevisions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/manifests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List manifests
         * @description Every manifest with its signature, in order, so that the chain can be verified. Each manifest contains the digest of the previous one, so none can be changed or removed unnoticed. Needs no key, so that anyone can keep a copy.
         */
        get: operations["listManifests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/manifest": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the manifest of a day
         * @description SHA-256 digests of every market whose window begins on a UTC day: of its snapshots, its trades and its facts, to compare with the other routes. A manifest is made once all markets of the day are closed and their winners known, at the latest three days after the day, and again when data of the day changes. By default the newest manifest.
         */
        get: operations["getManifest"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/cite": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Resolve a citation
         * @description A citation such as `bookfeed:btc/5m/2026-04-14@r3` identifies the markets of a coin, timeframe and UTC day at a revision. Returns their digest, the signed manifest that contains it, the time at which the data was as cited, and whether it still is.
         */
        get: operations["getCitation"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/bookfeed.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the key that signs manifests
         * @description Public key, and head of the chain.
         */
        get: operations["getWellKnown"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/{coin}/calibration": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get how often Up won, by distance from the strike
         * @description Share of windows that Up won, by time left and by the distance of the price from the strike, in standard deviations of the time that is left. Counted once a day from up to 5,000 expired windows of each timeframe that have a strike, a winner, and a price of the coin within ten seconds of each moment; void windows are left out. If windows of the coin are recorded, simulated ones are not counted. The board shows the share for the current distance of a window as its fair price.
         */
        get: operations["getCalibration"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/exports": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List your exports
         * @description For each export: whether it was sent completely, its number of snapshots, and its SHA-256 to check the file. Kept for the last 20 exports of an account, until the server restarts.
         */
        get: operations["listExports"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/test": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Get a test key
         * @description Returns a sandbox key, `bf_test_…`, without a wallet; the server stores nothing. The key works on every route, with two hours of simulated data and a live stream that repeats them. To simulate a fault, send the header `Bookfeed-Fault`: `rate_limited`, `stale`, `gap`, `slow` or `payment_pending`. Each response has `Bookfeed-Mode: test`. All test keys of a network address share one rate limit.
         */
        post: operations["createTestKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/challenge": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a sign-in message
         * @description Returns a message for your wallet to sign, valid for five minutes. The server stores nothing, and the signature moves no funds.
         */
        post: operations["createChallenge"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List keys
         * @description Valid keys of your account, oldest first. The secret keys are never shown again.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Get an API key
         * @description Takes the signed message of POST /v1/keys/challenge and returns a key of the wallet's account, which starts on the Free tier. An account that never paid has one key: the new key ends the old one at once. The address is screened for sanctions. The key is shown only once.
         */
        post: operations["createKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}/rotate": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Replace a key
         * @description Returns a new key in place of one of yours. The old key remains valid for `overlapSeconds`; both share one rate limit. A key can be replaced only once. If `overlapSeconds` is 0 and the request uses that key itself, the request cannot be repeated.
         */
        post: operations["rotateKey"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        post?: never;
        /**
         * Revoke a key
         * @description Ends one of your keys at once and permanently, including the key of the request itself. The request is idempotent.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        /**
         * Label a key
         * @description Changes the label of one of your valid keys. The request is idempotent.
         */
        patch: operations["labelKey"];
        trace?: never;
    };
    "/v1/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get tier, rate limits and usage
         * @description Rate limits are those of the key of this request; requests and bytes are summed over all keys of the account.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/sample": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List data that needs no key
         * @description With `Authorization: Bearer sample` instead of a key, GET requests can read everything that the Free tier includes (also for coins with simulated markets only), one whole expired market, and all simulated markets. Each network address has its own rate limit. Other requests are a 401, as without a key.
         */
        get: operations["getSample"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/tiers": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List tiers
         * @description The current catalogue. Later changes do not affect what was bought. While purchases are paused because payments cannot be settled, the tiers for sale have `pausedSince`, and a quote is refused with `billing_unavailable`; nothing is charged.
         */
        get: operations["listTiers"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/x402/chains": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List chains and tokens for payments
         * @description Tokens that are currently unavailable are listed with the reason.
         */
        get: operations["listChains"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/x402/quote": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Create a quote for a tier
         * @description Returns what a wallet has to sign to pay for a period of a tier. A quote is valid for ten minutes and obliges to nothing. The wallet of your account pays the full price. Any other wallet, named as `payer`, pays slightly less: an amount that no other open quote has, so that it identifies the quote. If an open quote for the same tier, token and payer is valid for at least three more minutes, that quote is returned. If a payment of your account for the same tier and token is pending, or was made within the last hour, the quote of that payment is returned with `paymentInFlight`; to buy one more period, send `anotherPeriod`.
         */
        post: operations["createQuote"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/x402/settle": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Pay for a quote
         * @description Settles a signed payment on the chain and provisions what it buys. The request is idempotent: a payment that is sent again is never charged twice, and returns its current state. Without a payment, the answer is 402 with the challenge of `quoteId`, as x402 clients expect. If a payment of your account for the same tier and token is pending, or was made within the last hour, a request without a payment returns that payment (200 or 202) instead; only a quote with `anotherPeriod` starts a second payment.
         */
        post: operations["settlePayment"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/x402/payments/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a payment
         * @description Returns a payment of your account. While it is pending, ask again after `Retry-After`.
         */
        get: operations["getPayment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/payments": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List payments
         * @description Payments of your account, newest first.
         */
        get: operations["listPayments"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/subscription": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get your subscription
         * @description The current period and the periods that begin after it.
         */
        get: operations["getSubscription"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check liveness
         * @description Does not access storage. If it fails, restart the process.
         */
        get: operations["getHealth"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Check readiness
         * @description If it fails, do not send requests to this server. It fails while the server starts or stops; while the history or the ledger cannot be read or written (both are written at most once a second as a test); while the server's copy of either is more than two seconds behind the database; while its clock differs by more than two seconds from the database and the other servers; and while the server records but cannot store, for example because the disk is nearly full. `detail` has the reasons. Problems that leave stored data available are a `warning` and not a failure: a venue that does not answer, paused purchases, a node of BOOKFEED_RPC_URL on another chain, and a clock that differs from the time of the chain.
         */
        get: operations["getReadiness"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/errors": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List the error codes
         * @description Markdown, or HTML for a browser. The `type` of a problem links to its heading.
         */
        get: operations["getErrors"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/llms.txt": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get a summary of the service for agents
         * @description Markdown in the format of llmstxt.org: contents, basics and all routes.
         */
        get: operations["getLlmsText"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/asyncapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Get the AsyncAPI document of the live stream
         * @description Every operation and message of GET /v1/stream with its schema, in AsyncAPI 3.0.
         */
        get: operations["getStreamDocument"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/packs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List packs of requests
         * @description Packs of requests, and the price of a single request (`requests` is 1). Empty if the operator sells nothing without a key. Later changes do not affect what was bought.
         */
        get: operations["listPacks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/packs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Buy a pack of requests
         * @description Without a payment, the response is 402 with the challenge, as x402 clients expect. With a payment, the requests belong to the account of the wallet that paid. The response shows a key if the payment created the account, was on no chain before, and was submitted by this server; otherwise `howToGetKey` says how the owner of the wallet gets one. Within an hour of a purchase, a new signature of the same wallet is not submitted: if its `validBefore` (or `deadline`) is later than that of the first purchase, the response is that of the first purchase. The `claim` of a 202, and the same payment with the same `payment-identifier`, get that response too. With the key of the account, the requests are added to the remaining ones. GET /v1/usage shows how many are left.
         */
        post: operations["buyPack"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/billing/buy/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Buy a tier without a key
         * @description Without a payment, the response is 402 with the challenge, as x402 clients expect. With a payment, the account of the wallet that paid gets the tier. The response shows a key if the payment created the account, was on no chain before, and was submitted by this server; otherwise `howToGetKey` says how the owner of the wallet gets one. Within an hour of a purchase, a new signature of the same wallet is not submitted: if its `validBefore` (or `deadline`) is later than that of the first purchase, the response is that of the first purchase. The `claim` of a 202, and the same payment with the same `payment-identifier`, get that response too. With the key of the account, `anotherPeriod=true` buys one more period within that hour.
         */
        post: operations["buyTier"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/.well-known/x402": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * List products that x402 clients can buy without a key
         * @description Paths that respond with 402 to a request without a payment.
         */
        get: operations["listResources"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        Coin: {
            /**
             * @description Coin in lower case, as in paths.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /** @description Display name of the coin. */
            name: string;
            /** @description Source of the order books: the venue, the simulator, or both. */
            sources: ("recorded" | "simulated")[];
            /** @description Number of known markets. */
            markets: number;
            /** @description Known markets whose window is open now. */
            openMarkets: number;
            /** @description Snapshots held. */
            snapshots: number;
            /**
             * Format: date-time
             * @description Time of the first snapshot; null when there is none.
             */
            firstSnapshot: string | null;
            /**
             * Format: date-time
             * @description Time of the last snapshot; null if there is none.
             */
            lastSnapshot: string | null;
            /** @description The same by timeframe, shortest first; timeframes without markets are left out. */
            timeframes: {
                /**
                 * @description Timeframe.
                 * @enum {string}
                 */
                timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Number of known markets. */
                markets: number;
                /** @description Known markets whose window is open now. */
                openMarkets: number;
                /** @description Snapshots held. */
                snapshots: number;
                /**
                 * Format: date-time
                 * @description Time of the first snapshot; null when there is none.
                 */
                firstSnapshot: string | null;
                /**
                 * Format: date-time
                 * @description Time of the last snapshot; null if there is none.
                 */
                lastSnapshot: string | null;
            }[];
        };
        /** @description Payment requirements of x402 v2; a wallet consumes them as they are. */
        PaymentRequirements: {
            /** @enum {string} */
            scheme: "exact";
            /** @description CAIP-2 identifier of the chain. */
            network: string;
            /** @description Contract of the token. */
            asset: string;
            /** @description In atomic units of the token; to be signed exactly, because it names the offer. */
            amount: string;
            /** @description Who is paid. */
            payTo: string;
            maxTimeoutSeconds: number;
            /** @description What the way of transfer needs, such as the name and version of a domain. */
            extra: {
                [key: string]: string;
            };
        };
        /** @description The challenge of x402 v2; the same as the header PAYMENT-REQUIRED. */
        PaymentRequired: {
            /** @enum {number} */
            x402Version: 2;
            /** @description Why there is no payment yet. */
            error?: string;
            resource: {
                url: string;
                description: string;
                mimeType: string;
                serviceName: string;
            };
            accepts: components["schemas"]["PaymentRequirements"][];
            /** @description Extensions of x402 that this server understands. */
            extensions?: {
                [key: string]: unknown;
            };
        };
        /** @description The SettleResponse of x402 v2; the same as the header PAYMENT-RESPONSE. */
        PaymentFailure: {
            /** @enum {boolean} */
            success: false;
            /** @description Why, in the words of x402 v2; an open set. */
            errorReason: string;
            payer?: string;
            /**
             * @description Empty: nothing was settled.
             * @enum {string}
             */
            transaction: "";
            network: string;
        };
        /** @description Payment requirements of x402 v1, which this server does not take payments of. */
        PaymentRequirementsV1: {
            /** @enum {string} */
            scheme: "exact";
            /** @description Name of the chain in x402 v1. */
            network: string;
            maxAmountRequired: string;
            resource: string;
            description: string;
            mimeType: string;
            payTo: string;
            maxTimeoutSeconds: number;
            asset: string;
            extra: {
                name: string;
                version: string;
            };
        };
        /** @description A failure, as RFC 9457 describes it. */
        Problem: {
            /** @description Address of the documentation of `code`, relative to the server. */
            type: string;
            /** @description The kind of failure; the same for every one of a code. */
            title: string;
            /** @description The HTTP status again. */
            status: number;
            /**
             * @description What to branch on. Codes are never renamed; new ones may be added.
             * @enum {string}
             */
            code: "invalid_parameter" | "invalid_request" | "challenge_invalid" | "signature_invalid" | "cursor_invalid" | "cursor_mismatch" | "payment_invalid" | "unauthenticated" | "payment_required" | "payment_rejected" | "tier_coin" | "tier_route" | "link_invalid" | "operator_only" | "not_found" | "unknown_coin" | "unknown_market" | "no_snapshot" | "stale" | "unknown_tier" | "unknown_network" | "unknown_token" | "unknown_offer" | "unknown_payment" | "unknown_file" | "unknown_key" | "method_not_allowed" | "market_conflict" | "challenge_used" | "tier_not_for_sale" | "offer_limit" | "payment_limit" | "offer_used" | "payment_conflict" | "payment_in_review" | "key_replaced" | "key_limit" | "offer_expired" | "allowance_required" | "file_replaced" | "challenge_expired" | "payload_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "idempotency_mismatch" | "rate_limited" | "too_many_streams" | "sanctioned" | "internal" | "damaged" | "signup_closed" | "billing_unavailable" | "screening_unavailable" | "storage_unavailable" | "unavailable";
            /** @description The same as `code`, for clients that look for `error`. */
            error: string;
            /** @description What was wrong here, and what to do about it. */
            detail: string;
            /** @description The same as the header X-Request-Id; quote it to us. */
            requestId: string;
            /** @description The parameter that was refused. */
            param?: string;
            /** @description The same as the header Retry-After. */
            retryAfterSeconds?: number;
            /** @description The lowest tier that includes what was asked for. */
            requiredTier?: string;
            /** @description Link to the file that replaced this one. */
            replacedBy?: string;
            /** @description Why a payment is not possible; an open set of codes. */
            reason?: string;
            /**
             * @description What a payer's program should do next.
             * @enum {string}
             */
            retryAction?: "sign_anew" | "retry_same_payment" | "poll" | "approve_then_retry" | "wait_and_retry" | "abandon" | "ask_operator";
            paymentRequired?: components["schemas"]["PaymentRequired"];
            paymentResponse?: components["schemas"]["PaymentFailure"];
            /**
             * @description For clients of x402 v1, with `accepts`.
             * @enum {number}
             */
            x402Version?: 1;
            accepts?: components["schemas"]["PaymentRequirementsV1"][];
        };
        /** @description Completeness and verification of the recording. */
        CoverageSummary: {
            /** @description Share of the market's time in which the outcome is recorded, rounded down to six decimals; null before that time begins, and if the window is unknown. GET …/coverage lists the gaps. */
            covered: number | null;
            /** @description Number of gaps in that time. */
            gaps: number;
            /** @description Longest time between two consecutive snapshots, in milliseconds; null with fewer than two. */
            longestSilenceMs: number | null;
            /** @description Share of the snapshots whose books reproduce the venue's own hash, rounded down; null without snapshots. */
            verified: number | null;
        };
        MarketOutcome: {
            /**
             * @description Outcome of the market.
             * @enum {string}
             */
            outcome: "up" | "down";
            /** @description Asset id of the outcome's token; null if unknown. */
            assetId: string | null;
            /** @description Recorded snapshots of this outcome. */
            snapshots: number;
            /** @description Snapshots that match the venue's hash. */
            verifiedSnapshots: number;
            /**
             * Format: date-time
             * @description Time of the first snapshot; null if there is none.
             */
            firstSnapshot: string | null;
            /**
             * Format: date-time
             * @description Time of the last snapshot; null if there is none.
             */
            lastSnapshot: string | null;
            coverage: components["schemas"]["CoverageSummary"];
        };
        Market: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /**
             * @description `upcoming` before the window, `open` during it, `closed` after it, `resolved` once the winner is known.
             * @enum {string}
             */
            status: "upcoming" | "open" | "closed" | "resolved";
            /** @description The venue's name of the market. */
            slug: string | null;
            /** @description Question of the market. */
            question: string | null;
            /**
             * Format: date-time
             * @description Start of the window, inclusive; null if unknown.
             */
            windowStart: string | null;
            /**
             * Format: date-time
             * @description End of the window, exclusive; null if unknown.
             */
            windowEnd: string | null;
            /** @description Tick size in USDC per share, as last fetched from the venue's catalogue; near 0 and 1 the venue uses a smaller one. Null if unknown. */
            tickSize: number | null;
            /** @description Price in USD that the final price is compared with, with all digits of its source; null if unknown. */
            strike: number | null;
            /** @description Price of the coin in USD at the end of the window, with all digits of its source; null until known. */
            finalPrice: number | null;
            /**
             * @description Winning outcome; null until known, and if `result` is `void`.
             * @enum {string|null}
             */
            winner: "up" | "down" | null;
            /**
             * @description Source of the result: the venue, an imported data set, or the simulator; null if there is none.
             * @enum {string|null}
             */
            winnerSource: "venue" | "dataset" | "simulated" | null;
            /**
             * @description Result: the winning outcome, or `void` if the venue paid half a dollar for each share of both outcomes; null until known.
             * @enum {string|null}
             */
            result: "up" | "down" | "void" | null;
            /**
             * @description Definition of the final price, and of the strike at the start of the window: Chainlink's average of the last 60 or 30 seconds, its spot price, or the close of Binance's candle of an hour or a day. Null if unknown.
             * @enum {string|null}
             */
            settlementRule: "twap60" | "twap30" | "spot" | "binance-1h" | "binance-1d" | null;
            /**
             * @description Source of the strike: the venue's catalogue, the venue's page of open windows, an imported data set, the final price of the previous window (`chain`), the published average for the start of the window (`feed`), or the simulator. Null if unknown.
             * @enum {string|null}
             */
            strikeSource: "catalogue" | "price_page" | "dataset" | "chain" | "feed" | "simulated" | null;
            /**
             * Format: date-time
             * @description Moment of the `strike`; null if unknown.
             */
            strikeTime: string | null;
            /**
             * @description Source of the final price, as in `strikeSource`; `chain` is the strike of the next window.
             * @enum {string|null}
             */
            finalPriceSource: "catalogue" | "price_page" | "dataset" | "chain" | "feed" | "simulated" | null;
            /**
             * Format: date-time
             * @description Moment of the `finalPrice`; null if unknown.
             */
            finalPriceTime: string | null;
            /** @description Fees as last fetched from the venue's catalogue or order book API; GET /v1/revisions lists changes. Null if the venue states none, or says that fees are not enabled. */
            feeSchedule: {
                /** @description Fee rate. */
                rate: number;
                /** @description Exponent of the price in the fee. */
                exponent: number;
                /** @description True if only takers pay the fee. */
                takerOnly: boolean;
                /** @description Share of the fee that makers receive. */
                rebateRate: number;
            } | null;
            /** @description Delay of the venue for taker orders, in milliseconds, from its order book API or its catalogue. Null if neither states it; since June 2026 it is 250 for markets of coins. */
            takerDelayMs: number | null;
            /** @description Time that an order must rest before it can be cancelled, in milliseconds, from the venue's order book API. Null if unknown. */
            orderAgeMs: number | null;
            /** @description Newest spot price of the coin while the market is open, as in GET /v1/{coin}/prices: simulated for a simulated market, recorded for a recorded one. Null before and after, if no price is recorded, and for a tier without `prices`. */
            spot: {
                /** @description In USD, with every digit of its source. */
                price: number;
                /** @description Who publishes it. */
                source: string;
                /** @description Seconds that it is an average of; 0 for the price of the moment. */
                windowSeconds: number;
                /**
                 * Format: date-time
                 * @description The source's time, UTC.
                 */
                timestamp: string;
            } | null;
            /** @description Outcomes, `up` before `down`. */
            outcomes: components["schemas"]["MarketOutcome"][];
            /** @description Recorded snapshots of both outcomes. */
            snapshots: number;
            /**
             * Format: date-time
             * @description Time of the first snapshot; null when there is none.
             */
            firstSnapshot: string | null;
            /**
             * Format: date-time
             * @description Time of the last snapshot; null when there is none.
             */
            lastSnapshot: string | null;
            /** @description Increases with each change of the market or its history, including late backfills. */
            revision: number;
        };
        OutcomeCoverage: {
            /**
             * @description Outcome of the market.
             * @enum {string}
             */
            outcome: "up" | "down";
            /** @description Recorded share of the requested time, rounded down to six decimals; null if that time is empty, and if the window is unknown unless both `from` and `to` are sent. */
            covered: number | null;
            /** @description Total recorded time, milliseconds. */
            coveredMs: number;
            /** @description Recorded intervals. Intervals and gaps together fill the requested time. */
            intervals: {
                /**
                 * Format: date-time
                 * @description Start, inclusive.
                 */
                from: string;
                /**
                 * Format: date-time
                 * @description End, exclusive.
                 */
                to: string;
                /** @description Length, milliseconds. */
                durationMs: number;
            }[];
            /** @description Gaps, with their reasons. */
            gaps: {
                /**
                 * Format: date-time
                 * @description Start, inclusive.
                 */
                from: string;
                /**
                 * Format: date-time
                 * @description End, exclusive.
                 */
                to: string;
                /** @description Length, milliseconds. */
                durationMs: number;
                /**
                 * @description `recorder_down`: the recorder was not connected. `venue_silent`: the recorder was connected and received nothing. `venue_restart`: the venue restarted its matching engine, as it does on Tuesdays at 07:00 Eastern. `hash_mismatch`: the book contradicted the venue's hash. `import`: the imported files have no data. `not_open`: outside of the market's time. `replica_behind`: this server's copy of the database is behind and may lack data; try again.
                 * @enum {string}
                 */
                reason: "recorder_down" | "venue_silent" | "venue_restart" | "hash_mismatch" | "not_open" | "import" | "replica_behind";
            }[];
            /** @description Stored snapshots of the outcome, regardless of `from` and `to`. */
            wholeMarket: {
                /** @description Snapshots held. */
                snapshots: number;
                /** @description Snapshots that match the venue's hash. */
                verifiedSnapshots: number;
                /** @description Share of the snapshots whose books reproduce the venue's own hash, rounded down; null without snapshots. */
                verified: number | null;
                /** @description Longest time between two consecutive snapshots of an outcome, in milliseconds; null if unknown. */
                longestSilenceMs: number | null;
                /**
                 * Format: date-time
                 * @description Time of the first snapshot; null when there is none.
                 */
                firstSnapshot: string | null;
                /**
                 * Format: date-time
                 * @description Time of the last snapshot; null when there is none.
                 */
                lastSnapshot: string | null;
            };
        };
        Coverage: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /**
             * @description Stage of the market.
             * @enum {string}
             */
            status: "upcoming" | "open" | "closed" | "resolved";
            /** @description `from` and `to` as requested. By default, the time of the market: its window, if known, and the recorded time beyond it, up to now. */
            requested: {
                /**
                 * Format: date-time
                 * @description Start, inclusive; null if nothing is known of the market.
                 */
                from: string | null;
                /**
                 * Format: date-time
                 * @description End, exclusive; null if nothing is known of the market.
                 */
                to: string | null;
                /** @description Length, milliseconds. */
                durationMs: number;
            };
            /** @description Coverage of both outcomes together. */
            covered: number | null;
            /** @description Longest time between two snapshots of an outcome that does not count as a gap, milliseconds. */
            silenceMs: number;
            /** @description Outcomes, `up` before `down`. */
            outcomes: components["schemas"]["OutcomeCoverage"][];
            /** @description Version of the market; increases with each change. */
            revision: number;
        };
        CoverageDay: {
            /**
             * Format: date
             * @description UTC day in which the windows begin.
             */
            day: string;
            /**
             * @description `available`: for each timeframe of the day, every window is fully recorded. `degraded`: something is missing, or the window of a market is unknown. `missing`: nothing is recorded. `pending`: the day is not over.
             * @enum {string}
             */
            state: "available" | "degraded" | "missing" | "pending";
            /** @description Markets whose windows begin on the day. */
            markets: number;
            /** @description Timeframes with markets, shortest first. */
            timeframes: {
                /**
                 * @description Length of the windows.
                 * @enum {string}
                 */
                timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Number of known markets. */
                markets: number;
                /** @description Number of windows in a full day. */
                windows: number;
                /** @description Recorded share of the windows' time; null before the first window begins. */
                covered: number | null;
            }[];
            /** @description Snapshots held. */
            snapshots: {
                /** @description Snapshots of up. */
                up: number;
                /** @description Snapshots of down. */
                down: number;
            };
            /** @description Recorded share of the windows' time, of both outcomes together, windows that are not recorded included, rounded down to six decimals; null before the first window begins, or if no market is known. */
            covered: number | null;
            /** @description Missing time by reason, summed over both outcomes. A window that is not recorded counts as one gap for each outcome, with the reason `import`. */
            gaps: {
                /**
                 * @description As in `gaps` of a market; or `window_unknown`: the market has snapshots but its window is unknown, so they count in no window and `durationMs` is 0.
                 * @enum {string}
                 */
                reason: "recorder_down" | "venue_silent" | "venue_restart" | "hash_mismatch" | "not_open" | "import" | "replica_behind" | "window_unknown";
                /** @description Number of gaps. */
                count: number;
                /** @description Together, milliseconds. */
                durationMs: number;
            }[];
            /** @description Share of the snapshots whose books reproduce the venue's own hash, rounded down; null without snapshots. */
            verified: number | null;
            /** @description Longest time between two consecutive snapshots of an outcome, in milliseconds; null if unknown. */
            longestSilenceMs: number | null;
        };
        DayKind: {
            /**
             * Format: date
             * @description UTC day in which the windows begin.
             */
            day: string;
            /**
             * @description `snapshots`: order books, and data derived from them, such as quotes and bars. `trades`: trades. `settlements`: prices at the ends of windows, which verify their results.
             * @enum {string}
             */
            kind: "snapshots" | "trades" | "settlements";
            /**
             * @description `complete`: nothing is missing. `gaps`: part of the data is missing. `pending`: the day, or one of its windows, has not ended or has no result yet. `missing`: nothing is recorded.
             * @enum {string}
             */
            state: "complete" | "gaps" | "pending" | "missing";
            /** @description Why the data is not complete: reasons of gaps as in coverage, reasons of settlements as in GET …/settlement, `no_market` if a window is not recorded, `no_trade` if no trade is. */
            reasons: ("recorder_down" | "venue_silent" | "venue_restart" | "hash_mismatch" | "not_open" | "import" | "replica_behind" | "window_unknown" | "no_market" | "no_trade" | "winner_differs" | "void" | "no_winner" | "not_over" | "no_tick_at_start" | "no_tick_at_end" | "candle" | "rule_unknown")[];
            /**
             * Format: date-time
             * @description Time since when the state holds: the end of the last window of the day, or a later change of one of its markets. For `pending`, the start of the day.
             */
            since: string;
        };
        /** @description The price that decides one end of a window: the first price at or after that moment, within five seconds, or the last one of the same second. */
        SettlementTick: {
            /** @description Publisher of the price. */
            source: string;
            /** @description Length of the average in seconds; 0 for a spot price. */
            windowSeconds: number;
            /**
             * Format: date-time
             * @description Source's timestamp, UTC.
             */
            timestamp: string;
            /** @description USD, with all digits of the source. */
            price: number;
            /**
             * Format: date-time
             * @description Time of receipt by the recorder; null for prices that the feed sent as history.
             */
            receivedAt: string | null;
            /** @description Milliseconds from the end of the window that the price decides to the price's timestamp. */
            lateMs: number;
        };
        /** @description Settlement of a window, compared with recorded prices. */
        Settlement: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /** @description The venue's name of the market. */
            slug: string | null;
            /**
             * Format: date-time
             * @description Start of the window; null if unknown.
             */
            windowStart: string | null;
            /**
             * Format: date-time
             * @description End of the window; null if unknown.
             */
            windowEnd: string | null;
            /**
             * @description Settlement rule of the market; null if unknown.
             * @enum {string|null}
             */
            settlementRule: "twap60" | "twap30" | "spot" | "binance-1h" | "binance-1d" | null;
            /**
             * @description `agrees`: recorded prices lead to the market's result. `disagrees`: they lead to another result. `unknown`: the prices or the result are unknown.
             * @enum {string}
             */
            agreement: "agrees" | "disagrees" | "unknown";
            /**
             * @description Null if they agree. `winner_differs`: the prices lead to the other outcome. `void`: the venue paid half for each outcome. `no_winner`: the result is not known yet. `not_over`: the window has not ended. `no_tick_at_start`, `no_tick_at_end`: no price of the rule was recorded within five seconds of that end. `candle`: the rule is a candle of Binance, whose prices are not recorded. `rule_unknown`, `window_unknown`: the rule or the window of the market is unknown.
             * @enum {string|null}
             */
            reason: "winner_differs" | "void" | "no_winner" | "not_over" | "no_tick_at_start" | "no_tick_at_end" | "candle" | "rule_unknown" | "window_unknown" | null;
            /** @description Result by recorded prices; null if one is missing. */
            proof: {
                /** @description Price at the start of the window, by the rule. */
                strike: number;
                /** @description Price at the end of the window, by the rule. */
                finalPrice: number;
                /**
                 * @description `up` if `finalPrice` is at least `strike`.
                 * @enum {string}
                 */
                winner: "up" | "down";
                /** @description Prices at the start and at the end of the window. */
                ticks: components["schemas"]["SettlementTick"][];
            } | null;
            /** @description Only if there is no proof and the rule is an average: the published average if it is recorded, otherwise an average computed from spot prices, which is close to the published one but proves nothing. Null otherwise, and if prices are missing. */
            estimate: {
                /** @description Price at the start of the window, estimated. */
                strike: number;
                /** @description Price at the end of the window, estimated. */
                finalPrice: number;
                /**
                 * @description `up` if `finalPrice` is at least `strike`.
                 * @enum {string}
                 */
                winner: "up" | "down";
                /** @description Publisher of the averaged prices. */
                source: string;
            } | null;
            /** @description Strike of the market; null if unknown. */
            strike: number | null;
            /**
             * @description Source of the strike.
             * @enum {string|null}
             */
            strikeSource: "catalogue" | "price_page" | "dataset" | "chain" | "feed" | "simulated" | null;
            /** @description Final price of the market; null until known. */
            finalPrice: number | null;
            /**
             * @description Source of the final price.
             * @enum {string|null}
             */
            finalPriceSource: "catalogue" | "price_page" | "dataset" | "chain" | "feed" | "simulated" | null;
            /**
             * @description Result: the winning outcome, or `void`; null until known.
             * @enum {string|null}
             */
            result: "up" | "down" | "void" | null;
            /**
             * @description Source of the result: the venue, an imported data set, or the simulator.
             * @enum {string|null}
             */
            winnerSource: "venue" | "dataset" | "simulated" | null;
        };
        Incident: {
            /** @description Id of the incident: its cause and its start. */
            id: string;
            /**
             * @description Component that failed.
             * @enum {string}
             */
            source: "recorder" | "venue";
            /**
             * @description Reason of the gaps. `recorder_down`: the recorder was not connected. `venue_restart`: the venue restarted its matching engine. `venue_silent`: the recorder was connected and received nothing of any open window.
             * @enum {string}
             */
            cause: "recorder_down" | "venue_restart" | "venue_silent";
            /**
             * Format: date-time
             * @description First missing moment of any market, inclusive.
             */
            from: string;
            /**
             * Format: date-time
             * @description End of the last gap, exclusive; null while the incident lasts.
             */
            to: string | null;
            /** @description Length in milliseconds; null while the incident lasts. */
            durationMs: number | null;
            /** @description Number of markets with a gap. */
            markets: number;
            /** @description Markets by coin and timeframe. */
            affected: {
                /**
                 * @description Coin in lower case.
                 * @enum {string}
                 */
                symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
                /**
                 * @description Timeframe.
                 * @enum {string}
                 */
                timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Number of markets with a gap. */
                markets: number;
                /**
                 * Format: date-time
                 * @description Start of the first of these windows.
                 */
                firstWindow: string;
                /**
                 * Format: date-time
                 * @description Start of the last of these windows.
                 */
                lastWindow: string;
            }[];
        };
        /** @description One level of a side. */
        Level: {
            /** @description USDC per share, exact decimal between 0 and 1. */
            price: number;
            /** @description Shares, exact decimal; at most 9007199254.740991. */
            size: number;
            /**
             * @description Only with `view=consolidated`: the book that shows the level, the outcome's own or the mirror of the other's.
             * @enum {string}
             */
            source?: "own" | "mirror" | "both";
        };
        /** @description Only with `view=consolidated`: the states that the ladder is made of. */
        LadderSources: {
            /** @description The outcome's own state; null if it does not count. */
            own: {
                /** @description Identifier of the state. */
                id: string;
                /**
                 * Format: date-time
                 * @description Its time.
                 */
                timestamp: string;
            } | null;
            /** @description The other outcome's state; null if it does not count. */
            mirror: {
                /** @description Identifier of the state. */
                id: string;
                /**
                 * Format: date-time
                 * @description Its time.
                 */
                timestamp: string;
            } | null;
            /** @description Milliseconds between the two; null unless both count. */
            skewMs: number | null;
        };
        /** @description Without `fields` every member is there, but not `receivedAt`, and `sources` only with `view=consolidated`; with `fields` those that it names. */
        Snapshot: {
            /** @description Snapshot identifier: decimal digits, rising in the order of acceptance. */
            id?: string;
            /** @description Identifier of the outcome's token; null only with `view=consolidated`, where it is not known and the ladder is the mirror of the other outcome's. */
            assetId?: string | null;
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId?: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol?: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Outcome whose book this is.
             * @enum {string}
             */
            outcome?: "up" | "down";
            /**
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * Format: date-time
             * @description The venue's time, UTC, milliseconds.
             */
            timestamp?: string;
            /** @description Buy side, best (highest) first; `[]` when empty. */
            bids?: components["schemas"]["Level"][];
            /** @description Sell side, best (lowest) first; `[]` when empty. */
            asks?: components["schemas"]["Level"][];
            /**
             * Format: date-time
             * @description Only where `fields` names it: when the recorder received the state, by the recorder's clock, UTC, milliseconds; null where that is not known.
             */
            receivedAt?: string | null;
            sources?: components["schemas"]["LadderSources"];
        };
        ChangedLevel: {
            /** @description USDC per share, exact decimal between 0 and 1. */
            price: number;
            /** @description Shares at this price from now on, exact; 0 if the level is gone. */
            size: number;
        };
        /** @description A state of a book, as the levels that changed. */
        Change: {
            /** @description Identifier of the state, as of its snapshot. */
            id: string;
            /** @description Identifier of the state that this one changes, the one before it of its outcome; null if the row is a snapshot. */
            prevId: string | null;
            /**
             * @description Outcome whose book this is.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * Format: date-time
             * @description The venue's time of the state, UTC, milliseconds.
             */
            timestamp: string;
            /**
             * Format: date-time
             * @description When the recorder received the state, by the recorder's clock; null where that is not known.
             */
            receivedAt: string | null;
            /** @description Whether the whole book reproduces the venue's hash; null where that could not be checked. */
            verified: boolean | null;
            /** @description True if the row has the whole book: replace yours. Set for the first state of each outcome, after a gap, at a finer tick, and after a state that you were not sent. */
            snapshot: boolean;
            /** @description Buy side, best first. A snapshot has all levels; a change has those that differ from the state `prevId`, with size 0 if a level is gone. */
            bids: components["schemas"]["ChangedLevel"][];
            /** @description Sell side, best first. A snapshot has all levels; a change has those that differ from the state `prevId`, with size 0 if a level is gone. */
            asks: components["schemas"]["ChangedLevel"][];
        };
        /** @description Without `fields` every member is there, but not `receivedAt`, and `sources` only with `view=consolidated`; with `fields` those that it names. */
        AgedSnapshot: {
            /** @description Snapshot identifier: decimal digits, rising in the order of acceptance. */
            id?: string;
            /** @description Identifier of the outcome's token; null only with `view=consolidated`, where it is not known and the ladder is the mirror of the other outcome's. */
            assetId?: string | null;
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId?: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol?: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Outcome whose book this is.
             * @enum {string}
             */
            outcome?: "up" | "down";
            /**
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * Format: date-time
             * @description The venue's time, UTC, milliseconds.
             */
            timestamp?: string;
            /** @description Buy side, best (highest) first; `[]` when empty. */
            bids?: components["schemas"]["Level"][];
            /** @description Sell side, best (lowest) first; `[]` when empty. */
            asks?: components["schemas"]["Level"][];
            /**
             * Format: date-time
             * @description Only where `fields` names it: when the recorder received the state, by the recorder's clock, UTC, milliseconds; null where that is not known.
             */
            receivedAt?: string | null;
            sources?: components["schemas"]["LadderSources"];
            /** @description Milliseconds from `timestamp` to the moment asked for; also with `fields`. */
            ageMs: number;
        };
        /** @description A level that the order took. */
        FillLevel: {
            /** @description USDC per share, exact. */
            price: number;
            /** @description Shares taken at this price, exact; the last level is often taken in part. */
            size: number;
            /**
             * @description Book that shows the level: the outcome's own, the mirror of the other's, or both with the same size.
             * @enum {string}
             */
            source: "own" | "mirror" | "both";
            /** @description Price times size in USDC, rounded to six decimals. */
            cost: number;
        };
        Fill: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Traded outcome.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * @description Side of the order.
             * @enum {string}
             */
            side: "buy" | "sell";
            /**
             * @description Ladder that was filled against.
             * @enum {string}
             */
            view: "own" | "consolidated";
            /**
             * Format: date-time
             * @description Requested moment, at which the order is sent.
             */
            ts: string;
            /**
             * Format: date-time
             * @description Time at which the order meets the book: `ts` plus `latencyMs` plus `delayMs`.
             */
            matchedAt: string;
            /** @description Delay of the venue that was used, in milliseconds. */
            delayMs: number;
            /**
             * @description `request`: from the request. `market`: stated by the venue for the market at that time. `venue`: the delay of all markets of coins since June 2026. `none`: no delay.
             * @enum {string}
             */
            delaySource: "request" | "market" | "venue" | "unknown" | "none";
            /** @description Fees used. */
            fees: {
                /**
                 * @description `request`: from the request. `market`: stated by the venue for the market at that time. `none`: `fees=none`. `unknown`: the fees of the market are unknown, and none are charged.
                 * @enum {string}
                 */
                source: "request" | "market" | "venue" | "unknown" | "none";
                /** @description Rate of the schedule; null without a schedule. */
                rate: number | null;
                /** @description Exponent of price × (1 − price) in the schedule. */
                exponent: number | null;
                /** @description True if only takers pay fees. */
                takerOnly: boolean | null;
                /** @description Share of taker fees that makers receive. */
                rebateRate: number | null;
            };
            /**
             * Format: date-time
             * @description Venue's timestamp of the newest state used.
             */
            timestamp: string;
            /** @description Milliseconds from `timestamp` to `matchedAt`. */
            ageMs: number;
            sources: components["schemas"]["LadderSources"];
            /** @description Requested amount and its unit. */
            asked: {
                /** @description Shares requested. */
                size?: number;
                /** @description USDC requested. */
                usdc?: number;
            };
            /** @description Shares filled, exact. */
            filled: number;
            /** @description Traded value in USDC before fees, rounded to six decimals. */
            notional: number;
            /** @description Fee in USDC, rounded to six decimals. */
            fee: number;
            /** @description Total that a buy pays or a sell receives, in USDC, rounded to six decimals. */
            total: number;
            /** @description Average price: notional over shares, rounded to nine decimals; null if nothing was filled. */
            averagePrice: number | null;
            /** @description Best price of the side; null if the side is empty. */
            bestPrice: number | null;
            /** @description Price of the last level used; null if nothing was filled. */
            worstPrice: number | null;
            /** @description Difference by which the average price is worse than the best price, rounded to nine decimals; null if nothing was filled. */
            slippage: number | null;
            /** @description Number of `levels`. */
            levelsUsed: number;
            /** @description Unfilled rest of the requested amount, in its unit; 0 if the order was filled completely. */
            unfilled: number;
            /** @description Levels used, best first. */
            levels: components["schemas"]["FillLevel"][];
        };
        RestingFill: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Traded outcome.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * @description Side of the order.
             * @enum {string}
             */
            side: "buy" | "sell";
            /** @description Price of the order. */
            price: number;
            /** @description Shares of the order. */
            size: number;
            /**
             * Format: date-time
             * @description Time at which the order is sent.
             */
            from: string;
            /**
             * Format: date-time
             * @description Time at which the order arrives: `from` plus `latencyMs`.
             */
            placedAt: string;
            /**
             * Format: date-time
             * @description Time at which the order is cancelled.
             */
            until: string;
            /** @description Shares that the book shows at the price when the order arrives; null if the book is unknown. */
            queueAhead: number | null;
            /** @description Lower bound: the order is behind everything that the book shows at the price when it arrives. Only trades at the price shorten that queue; a trade through the price ends it. */
            lower: {
                /** @description Shares filled, exact. */
                filled: number;
                /**
                 * Format: date-time
                 * @description Time of the first fill; null if there is none.
                 */
                firstAt: string | null;
                /**
                 * Format: date-time
                 * @description Time of the trade that completes the fill; null if it is not complete.
                 */
                completeAt: string | null;
            };
            /** @description Upper bound: the order is first in the queue at its price. */
            upper: {
                /** @description Shares filled, exact. */
                filled: number;
                /**
                 * Format: date-time
                 * @description Time of the first fill; null if there is none.
                 */
                firstAt: string | null;
                /**
                 * Format: date-time
                 * @description Time of the trade that completes the fill; null if it is not complete.
                 */
                completeAt: string | null;
            };
            /** @description Shares traded through the price, exact. */
            tradedThrough: number;
            /** @description Shares traded at the price, exact. */
            tradedAt: number;
            /** @description Fees used. */
            fees: {
                /**
                 * @description `request`: from the request. `market`: stated by the venue for the market at that time. `none`: `fees=none`. `unknown`: the fees of the market are unknown, and none are charged.
                 * @enum {string}
                 */
                source: "request" | "market" | "venue" | "unknown" | "none";
                /** @description Rate of the schedule; null without a schedule. */
                rate: number | null;
                /** @description Exponent of price × (1 − price) in the schedule. */
                exponent: number | null;
                /** @description True if only takers pay fees. */
                takerOnly: boolean | null;
                /** @description Share of taker fees that makers receive. */
                rebateRate: number | null;
            };
            /** @description What the data cannot show. `gap`: books of part of the range are not recorded, and trades may be missing too. `trades_unknown`: part of the range is before the first or after the last recorded trade of the market, so trades may be missing. `unclear_trades`: the source does not report the outcome, side or size of some trades; they count in `upper` only. `queue_unknown`: the book is unknown when the order arrives, so `lower` counts only trades through the price. `crossed`: the order would have been executed on arrival. */
            doubts: ("gap" | "trades_unknown" | "unclear_trades" | "queue_unknown" | "crossed")[];
        };
        /** @description Without `fields`, all members except `receivedAt`; `time` and `ageMs` only with `interval`. With `fields`, only the requested members. */
        Quote: {
            /**
             * Format: date-time
             * @description Moment of the step; only with `interval`.
             */
            time?: string;
            /** @description Milliseconds from `timestamp` to `time`; only with `interval`. */
            ageMs?: number;
            /** @description Id of the snapshot. */
            id?: string;
            /**
             * @description Outcome of the book.
             * @enum {string}
             */
            outcome?: "up" | "down";
            /**
             * Format: date-time
             * @description Venue's timestamp of the state, UTC, in milliseconds.
             */
            timestamp?: string;
            /** @description Best bid in USDC per share, exact; null when the side is empty. */
            bid?: number | null;
            /** @description Shares at the best bid, exact; null if the side is empty. */
            bidSize?: number | null;
            /** @description Best ask in USDC per share, exact; null when the side is empty. */
            ask?: number | null;
            /** @description Shares at the best ask, exact; null if the side is empty. */
            askSize?: number | null;
            /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
            mid?: number | null;
            /** @description Ask minus bid, exact; negative if the book is crossed, null if a side is empty. */
            spread?: number | null;
            /** @description (bidSize − askSize) / (bidSize + askSize), from -1 to 1, rounded half away from zero to six decimals; null if a side is empty. */
            imbalance?: number | null;
            /**
             * Format: date-time
             * @description Time at which the recorder received the state, by the recorder's clock; null if unknown. Only if requested by `fields`.
             */
            receivedAt?: string | null;
        };
        OpenMarket: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Timeframe of the market.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /** @description The venue's name of the market. */
            slug: string | null;
            /**
             * Format: date-time
             * @description Start of the window; null if unknown.
             */
            windowStart: string | null;
            /**
             * Format: date-time
             * @description End of the window; null if unknown.
             */
            windowEnd: string | null;
            /** @description Last state of "up"; null if none is recorded. */
            up: {
                /** @description Best bid in USDC per share, exact; null when the side is empty. */
                bid: number | null;
                /** @description Best ask in USDC per share, exact; null when the side is empty. */
                ask: number | null;
                /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
                mid: number | null;
                /**
                 * Format: date-time
                 * @description Venue's timestamp of the last state, UTC. There is no age, so that an unchanged response is a 304.
                 */
                timestamp: string;
            } | null;
            /** @description Last state of "down"; null if none is recorded. */
            down: {
                /** @description Best bid in USDC per share, exact; null when the side is empty. */
                bid: number | null;
                /** @description Best ask in USDC per share, exact; null when the side is empty. */
                ask: number | null;
                /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
                mid: number | null;
                /**
                 * Format: date-time
                 * @description Venue's timestamp of the last state, UTC. There is no age, so that an unchanged response is a 304.
                 */
                timestamp: string;
            } | null;
            /** @description Last trade of either outcome; null if none is recorded. */
            lastTrade: {
                /** @description Price as printed by the venue, exact. */
                price: number;
                /**
                 * @description Outcome that was traded; null if the venue does not report it.
                 * @enum {string|null}
                 */
                outcome: "up" | "down" | null;
                /**
                 * Format: date-time
                 * @description Venue's timestamp of the trade.
                 */
                timestamp: string;
            } | null;
        };
        /** @description A state in which the mid or the last trade changed; without `interval`. */
        Price: {
            /** @description Id of the snapshot. */
            id: string;
            /**
             * @description Outcome of the price.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * Format: date-time
             * @description Venue's timestamp of the state, UTC.
             */
            timestamp: string;
            /** @description Best bid in USDC per share, exact; null when the side is empty. */
            bid: number | null;
            /** @description Best ask in USDC per share, exact; null when the side is empty. */
            ask: number | null;
            /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
            mid: number | null;
            /** @description Last trade price at or before `timestamp`, in terms of `outcome`: if the other outcome was traded, 1 minus its price; if `lastTradeOutcome` is null, the price as printed, of an unknown outcome. Null before the first trade. */
            lastTrade: number | null;
            /**
             * Format: date-time
             * @description Time of the last trade.
             */
            lastTradeTime: string | null;
            /**
             * @description Outcome that was traded; null if the source does not report it, and before the first trade.
             * @enum {string|null}
             */
            lastTradeOutcome: "up" | "down" | null;
        };
        /** @description A bar; with `interval`. */
        Bar: {
            /**
             * @description Outcome of the price.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * Format: date-time
             * @description Start of the step, inclusive.
             */
            start: string;
            /**
             * Format: date-time
             * @description End of the step, exclusive.
             */
            end: string;
            /** @description First mid, over the states with both sides; null if there are none. */
            open: number | null;
            /** @description Highest mid, over the states with both sides; null if there are none. */
            high: number | null;
            /** @description Lowest mid, over the states with both sides; null if there are none. */
            low: number | null;
            /** @description Last mid, over the states with both sides; null if there are none. */
            close: number | null;
            /** @description Last trade price before the end of the bar, which may be older than the bar, in terms of `outcome`: if the other outcome was traded, 1 minus its price; if `lastTradeOutcome` is null, the price as printed, of an unknown outcome. Null before the first trade. */
            lastTrade: number | null;
            /**
             * Format: date-time
             * @description Time of the last trade.
             */
            lastTradeTime: string | null;
            /**
             * @description Outcome that was traded; null if the source does not report it, and before the first trade.
             * @enum {string|null}
             */
            lastTradeOutcome: "up" | "down" | null;
            /** @description Updates of the last trade price in the bar, of either outcome; repeats of a time and price count once. This is not a number of trades: two trades at one price in one millisecond are one update, and a source may omit trades that do not change the price. Bars of both outcomes have the same value. */
            lastTradeUpdates: number;
            /** @description States of this outcome in the bar, including those with an empty side. */
            states: number;
            /** @description Share of the step that is recorded and in the range, rounded down to six decimals. Below 1, states may be missing from the bar. */
            covered: number;
        };
        BoardWindow: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /** @description The venue's name of the market. */
            slug: string | null;
            /**
             * Format: date-time
             * @description Start of the window; null if unknown.
             */
            windowStart: string | null;
            /**
             * Format: date-time
             * @description End of the window; null if unknown.
             */
            windowEnd: string | null;
            /**
             * @description Settlement rule, as in GET /v1/{coin}/markets.
             * @enum {string|null}
             */
            settlementRule: "twap60" | "twap30" | "spot" | "binance-1h" | "binance-1d" | null;
            /** @description Price that the final price is compared with; null until it is known. */
            strike: number | null;
            /** @description Newest spot price of the coin; null if none is recorded. */
            spot: {
                /** @description In USD, with every digit of its source. */
                price: number;
                /** @description Who publishes it. */
                source: string;
                /** @description Seconds that it is an average of; 0 for the price of the moment. */
                windowSeconds: number;
                /**
                 * Format: date-time
                 * @description The source's time, UTC.
                 */
                timestamp: string;
            } | null;
            /** @description Settlement average so far: the newest average that the source publishes or, if the source publishes none, the average of its prices. In the last seconds of the window, the average begins with the settlement time; before that, it covers the same number of seconds up to now. Null if the window does not settle on an average, or if its source has no prices. Prices of other sources are never used. */
            average: {
                /** @description In USD. */
                price: number;
                /**
                 * Format: date-time
                 * @description Start of the averaged time, inclusive.
                 */
                from: string;
                /**
                 * Format: date-time
                 * @description End of the averaged time, exclusive.
                 */
                to: string;
                /** @description Source that publishes the average or the prices. */
                source: string;
                /** @description True in the last seconds of the window, whose average decides the settlement. An average that the source publishes at the end of the window is final; one published earlier covers the time since `from`. */
                isSettlement: boolean;
            } | null;
            /** @description Lowest average of the remaining seconds with which Up wins, given the prices since the settlement time began. Null before the settlement time, if the window does not settle on an average, and if prices or the strike are missing. */
            needed: {
                /** @description USD, rounded up to the precision of the prices. */
                price: number;
                /**
                 * Format: date-time
                 * @description Start of the remaining seconds, inclusive.
                 */
                from: string;
            } | null;
            /**
             * @description Outcome whose book gives the following members, in terms of up. If no book of up is recorded, the book of `down` is mirrored: an offer to sell down at 0.4 is a bid for up at 0.6. Null without a book.
             * @enum {string|null}
             */
            bookOf: "up" | "down" | null;
            /**
             * Format: date-time
             * @description Venue's timestamp of the book, UTC.
             */
            timestamp: string | null;
            /** @description Best bid in USDC per share, exact; null when the side is empty. */
            bid: number | null;
            /** @description Best ask in USDC per share, exact; null when the side is empty. */
            ask: number | null;
            /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
            mid: number | null;
            /** @description Best ask minus best bid; null if a side is empty. */
            spread: number | null;
            /** @description Bid size within 0.02 of `mid`, in shares; null without a mid. */
            bidDepth: number | null;
            /** @description Ask size within 0.02 of `mid`, in shares; null without a mid. */
            askDepth: number | null;
            /** @description Shares traded so far, of both outcomes, including trades before the window; null if no trade with a size is recorded. */
            volume: number | null;
            /** @description Number of trades so far; null if the window is damaged. */
            trades: number | null;
            /** @description Recording of the window. */
            recording: {
                /**
                 * @description `recorded`: no gap now. `gap`: a gap now. `none`: no book was recorded. `damaged`: stored data of the window, or of the prices of its coin, failed its checksum; other windows are not affected.
                 * @enum {string}
                 */
                state: "recorded" | "gap" | "none" | "damaged";
                /**
                 * @description Reason of the current gap; null if there is none.
                 * @enum {string|null}
                 */
                reason: "recorder_down" | "venue_silent" | "venue_restart" | "hash_mismatch" | "not_open" | "import" | "replica_behind" | null;
                /**
                 * Format: date-time
                 * @description Start of the current gap; null if there is none.
                 */
                since: string | null;
                /** @description Share of the window so far in which both outcomes are recorded, rounded down to thousandths; null if the window is unknown or damaged. */
                covered: number | null;
            };
            /** @description Up to 60 points from the start of the window to now. */
            history: {
                /**
                 * Format: date-time
                 * @description Time of the first point: the start of the window.
                 */
                from: string;
                /** @description Milliseconds between points. */
                stepMs: number;
                mid: (number | null)[];
                spot: (number | null)[];
                average: (number | null)[];
            } | null;
        };
        /** @description A trade as announced by the venue. */
        Trade: {
            /**
             * Format: date-time
             * @description The venue's time of the trade, UTC.
             */
            timestamp: string;
            /**
             * @description Outcome that was traded; null if the source does not report it.
             * @enum {string|null}
             */
            outcome: "up" | "down" | null;
            /** @description USDC per share, exactly as the venue printed it. */
            price: number;
            /** @description Shares, exact; null if the source does not report it. */
            size: number | null;
            /**
             * @description Side of the taker; null if the source does not report it.
             * @enum {string|null}
             */
            side: "buy" | "sell" | null;
            /** @description Hash of the settlement transaction; null if the source does not report it. */
            transactionHash: string | null;
            /**
             * @description Only if the operator has nodes of the chain asked (`BOOKFEED_TRADE_NODES`). `confirmed`: the chain has executed the transaction, and `failed`: it has reverted it, both finally. `pending`: neither is known yet. `unknown`: neither became known within a day, or the trade has no transaction.
             * @enum {string}
             */
            chain?: "confirmed" | "failed" | "pending" | "unknown";
        };
        PanelRow: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /** @description The venue's name of the market. */
            slug: string | null;
            /**
             * @description Timeframe of the market.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /**
             * Format: date-time
             * @description Start of the window, inclusive.
             */
            windowStart: string;
            /**
             * Format: date-time
             * @description End of the window: the expiry.
             */
            windowEnd: string;
            /** @description Price that the final price is compared with, in USD. */
            strike: number | null;
            /** @description Final price of the coin. Not yet known at `ts`. */
            finalPrice: number | null;
            /**
             * @description Winning outcome; null until known, and for a void market. Not yet known at `ts`.
             * @enum {string|null}
             */
            winner: "up" | "down" | null;
            /**
             * @description Source of the result.
             * @enum {string|null}
             */
            winnerSource: "venue" | "dataset" | "simulated" | null;
            /** @description Offset as requested. */
            offset: string;
            /** @description Offset in milliseconds. */
            offsetMs: number;
            /**
             * Format: date-time
             * @description Moment of the row: `windowEnd` minus the offset.
             */
            ts: string;
            /** @description Last trade at or before `ts`; null if none is recorded. Absent for a tier without `prices`. */
            lastTrade?: {
                /** @description Price as printed by the venue, exact. */
                price: number;
                /**
                 * @description Outcome that was traded; null if the source does not report it.
                 * @enum {string|null}
                 */
                outcome: "up" | "down" | null;
                /**
                 * Format: date-time
                 * @description Venue's timestamp of the trade.
                 */
                timestamp: string;
            } | null;
            /** @description Prevailing spot price of the coin at `ts`; a later price is never used. If there are several averages, the shortest one. Null if none is recorded by then, or none within `maxAgeMs`. Absent for a tier without `prices`. */
            spot?: {
                /** @description USD, with all digits of the source. */
                price: number;
                /** @description Publisher of the price. */
                source: string;
                /** @description Length of the average in seconds; 0 for a spot price. */
                windowSeconds: number;
                /** @description Milliseconds from the source's time to `ts`. */
                ageMs: number;
            } | null;
            /** @description True if `ts` is in a recorded interval. False in a gap, where the true state may have been another one. For offset 0, the millisecond before the expiry counts. */
            covered: {
                /** @description Coverage of up. */
                up: boolean;
                /** @description Coverage of down. */
                down: boolean;
            };
            /** @description Prevailing state of "up" at `ts`; a later state is never used. Null if none is recorded by then, or none within `maxAgeMs`. */
            up: {
                /**
                 * Format: date-time
                 * @description Venue's timestamp of the prevailing state.
                 */
                timestamp: string;
                /** @description Milliseconds from `timestamp` to `ts`. */
                ageMs: number;
                /** @description Best bid, exact; null if the side is empty. */
                bid: number | null;
                /** @description Shares at the best bid. */
                bidSize: number | null;
                /** @description Best ask, exact; null if the side is empty. */
                ask: number | null;
                /** @description Shares at the best ask. */
                askSize: number | null;
                /** @description Half of bid plus ask, exact; null if a side is empty. */
                mid: number | null;
                /** @description Ask minus bid; negative if the book is crossed. */
                spread: number | null;
                /** @description (bidSize − askSize) / (bidSize + askSize), rounded to six decimals; null if a side is empty. */
                imbalance: number | null;
                /** @description The bid side of the book. */
                bids: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Sum of sizes over all levels in shares, exact. */
                    size: number;
                    /** @description Sum of price times size over all levels, rounded to six decimals. */
                    usdc: number;
                };
                /** @description The ask side of the book. */
                asks: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Sum of sizes over all levels in shares, exact. */
                    size: number;
                    /** @description Sum of price times size over all levels, rounded to six decimals. */
                    usdc: number;
                };
            } | null;
            /** @description Prevailing state of "down" at `ts`; a later state is never used. Null if none is recorded by then, or none within `maxAgeMs`. */
            down: {
                /**
                 * Format: date-time
                 * @description Venue's timestamp of the prevailing state.
                 */
                timestamp: string;
                /** @description Milliseconds from `timestamp` to `ts`. */
                ageMs: number;
                /** @description Best bid, exact; null if the side is empty. */
                bid: number | null;
                /** @description Shares at the best bid. */
                bidSize: number | null;
                /** @description Best ask, exact; null if the side is empty. */
                ask: number | null;
                /** @description Shares at the best ask. */
                askSize: number | null;
                /** @description Half of bid plus ask, exact; null if a side is empty. */
                mid: number | null;
                /** @description Ask minus bid; negative if the book is crossed. */
                spread: number | null;
                /** @description (bidSize − askSize) / (bidSize + askSize), rounded to six decimals; null if a side is empty. */
                imbalance: number | null;
                /** @description The bid side of the book. */
                bids: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Sum of sizes over all levels in shares, exact. */
                    size: number;
                    /** @description Sum of price times size over all levels, rounded to six decimals. */
                    usdc: number;
                };
                /** @description The ask side of the book. */
                asks: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Sum of sizes over all levels in shares, exact. */
                    size: number;
                    /** @description Sum of price times size over all levels, rounded to six decimals. */
                    usdc: number;
                };
            } | null;
        };
        Heatmap: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /**
             * @description Whose book.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * @description Aggregation of the cells.
             * @enum {string}
             */
            agg: "max" | "last" | "time-weighted";
            /**
             * Format: date-time
             * @description Start of the first column, inclusive.
             */
            from: string;
            /**
             * Format: date-time
             * @description End of the last column, exclusive.
             */
            to: string;
            /** @description Length of a column in milliseconds; the last one may be shorter. */
            stepMs: number;
            /** @description Width of a price bin. */
            priceStep: number;
            /** @description Time in which trades of the market are recorded; null if there are none. Only with `include=removed` and a tier that includes `prices`. */
            trades?: {
                /**
                 * Format: date-time
                 * @description First recorded trade.
                 */
                from: string;
                /**
                 * Format: date-time
                 * @description Last recorded trade.
                 */
                to: string;
            } | null;
            /** @description Columns, ordered by time. */
            columns: ({
                /** @description Share of the column in which the book is known, rounded down. */
                covered: number;
                /** @description Best bid at the last known moment of the column. */
                bid: number | null;
                /** @description Best ask at the last known moment of the column. */
                ask: number | null;
                /** @description Sizes of the bids; bins outside of the list are empty. */
                bids: {
                    /** @description Index of the first bin in `sizes`; bin k begins at price k·priceStep. */
                    from: number;
                    sizes: number[];
                };
                /** @description Sizes of the asks; bins outside of the list are empty. */
                asks: {
                    /** @description Index of the first bin in `sizes`; bin k begins at price k·priceStep. */
                    from: number;
                    sizes: number[];
                };
                /** @description Shares by which a cell fell since the end of the previous column, beyond what was traded: withdrawn orders. Only with `include=removed` and a tier that includes `prices`. Null in the first column; if the book is not known from the end of the previous column to the end of this one; outside of `trades`; and if outcome, side or size of a trade is unknown. */
                pulled?: {
                    /** @description Cells of the bids. */
                    bids: {
                        /** @description Index of the first bin in `sizes`; bin k begins at price k·priceStep. */
                        from: number;
                        sizes: number[];
                    };
                    /** @description Cells of the asks. */
                    asks: {
                        /** @description Index of the first bin in `sizes`; bin k begins at price k·priceStep. */
                        from: number;
                        sizes: number[];
                    };
                } | null;
                /** @description Shares of that fall that were traded in the column at the cell's prices and side. A trade of the other outcome at p counts at 1 − p. Only with `include=removed` and a tier that includes `prices`. Null in the first column; if the book is not known from the end of the previous column to the end of this one; outside of `trades`; and if outcome, side or size of a trade is unknown. */
                traded?: {
                    /** @description Cells of the bids. */
                    bids: {
                        /** @description Index of the first bin in `sizes`; bin k begins at price k·priceStep. */
                        from: number;
                        sizes: number[];
                    };
                    /** @description Cells of the asks. */
                    asks: {
                        /** @description Index of the first bin in `sizes`; bin k begins at price k·priceStep. */
                        from: number;
                        sizes: number[];
                    };
                } | null;
            } | null)[];
        };
        /** @description A reference price; without `interval`. */
        Spot: {
            /** @description Id of the price. */
            id: string;
            /** @description Publisher of the price, as named by the feed. */
            source: string;
            /** @description Length of the average in seconds (TWAP); 0 for a spot price. */
            windowSeconds: number;
            /**
             * Format: date-time
             * @description Source's timestamp, UTC.
             */
            timestamp: string;
            /** @description USD, with all digits of the source. */
            price: number;
            /**
             * Format: date-time
             * @description Time at which the recorder received the price; null for prices that the feed sent as history when the recorder connected.
             */
            receivedAt: string | null;
            /** @description Sequence number in the feed; null if the feed has none. */
            sequence: number | null;
            /** @description Prices missed directly before this one and not received since, as far as the feed shows it. */
            dropped: number;
        };
        /** @description A bar of one source and averaging window; with `interval`. */
        SpotBar: {
            /** @description Publisher of the price, as named by the feed. */
            source: string;
            /** @description Length of the average in seconds (TWAP); 0 for a spot price. */
            windowSeconds: number;
            /**
             * Format: date-time
             * @description Start of the step, inclusive.
             */
            start: string;
            /**
             * Format: date-time
             * @description End of the step, exclusive.
             */
            end: string;
            /** @description First price. */
            open: number;
            /** @description Highest price. */
            high: number;
            /** @description Lowest price. */
            low: number;
            /** @description Last price. */
            close: number;
            /** @description Number of prices in the bar. */
            ticks: number;
        };
        DayFile: {
            /** @description `name` of a file in GET /v1/{coin}/files. */
            name: string;
            /** @description Path of the file on this server. */
            url: string;
            /**
             * @description Timeframe of the markets.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * Format: date
             * @description UTC day on which the windows begin.
             */
            day: string;
            /**
             * @description `snapshots`: one row for each snapshot, with 25 levels of each side. `levels`: one row for each level of each snapshot. `quotes`: one row for each change of the top of the book. `trades`: one row for each trade. `panel`: one row for each market and moment before its expiry. `changes`: one row per changed level.
             * @enum {string}
             */
            kind: "snapshots" | "levels" | "quotes" | "trades" | "panel" | "changes";
            /**
             * @description Type of prices and sizes: `decimal` is DECIMAL and exact, `double` is DOUBLE, which every program reads.
             * @enum {string}
             */
            numbers: "decimal" | "double";
            /** @description Revision of the day, from 1; a later one has data that became known later. */
            revision: number;
            /** @description True for the newest revision. */
            isLatest: boolean;
            /** @description Number of markets in the file. */
            markets: number;
            /** @description Number of rows in the file. */
            rows: number;
            /** @description Size of the file in bytes. */
            bytes: number;
            /** @description SHA-256 of the file, in hex. */
            sha256: string;
            /**
             * Format: date-time
             * @description Time at which the file was made.
             */
            madeAt: string;
            /** @description Address of the file that needs no header. Only with `links`, and only of the newest revision. */
            link?: string;
            /**
             * Format: date-time
             * @description When `link` ends.
             */
            linkExpires?: string;
        };
        /** @description A change of published data of a market. */
        Revision: {
            /** @description Id, which increases with each change. */
            id: string;
            /**
             * Format: date-time
             * @description Time of the change by the server's clock, UTC.
             */
            time: string;
            /**
             * @description `late_rows`: the recorder added snapshots before the last one, or after the market was closed. `imported`: an import added snapshots. `late_trades`: trades arrived after the market was closed. `fact_changed`: a fact became known or was corrected. `gap_noted`: a gap was recorded. `gap_closed`: a gap became shorter or was removed. `deleted`: the market was deleted.
             * @enum {string}
             */
            why: "late_rows" | "imported" | "late_trades" | "fact_changed" | "gap_noted" | "gap_closed" | "deleted";
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /**
             * @description Timeframe of the market.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * Format: date-time
             * @description Start of the window; if it is unknown, the time of the first snapshot.
             */
            windowStart: string;
            /** @description `revision` of the market after the change. */
            revision: number;
            /** @description Snapshots or trades that were added, with new ids. */
            added: number;
            /** @description Snapshots that kept their id and book but changed otherwise, for example in the time of receipt. */
            changed: number;
            /** @description Snapshots that were removed: replaced by a better one, assigned a new id, or deleted with the market. */
            removed: number;
            /**
             * Format: date-time
             * @description First affected time, inclusive.
             */
            from: string | null;
            /**
             * Format: date-time
             * @description Last affected time, exclusive.
             */
            to: string | null;
            /** @description Changed facts; empty for other kinds of changes. */
            facts: {
                /** @description Name of the fact, as in a market. */
                fact: string;
                /** @description Previous value; null if there was none. */
                before: string | null;
                /** @description New value. */
                after: string | null;
            }[];
        };
        ManifestRow: {
            /** @description Sequence number in the chain, from 1, without gaps. */
            sequence: number;
            /** @description UTC day on which the windows of the markets begin. */
            day: string;
            /** @description Revision of the day, from 1. */
            revision: number;
            /** @description SHA-256 in hex of the canonical JSON of `manifest`. */
            digest: string;
            /** @description `digest` of the previous manifest; null for the first. */
            previous: string | null;
            /** @description Ed25519 signature, in base64, of the text `bookfeed-manifest-1 SEQUENCE DAY REVISION DIGEST PREVIOUS`, where PREVIOUS is `-` if there is none. */
            signature: string;
            /** @description Public key of the signature: 32 bytes in base64. `/.well-known/bookfeed.json` has the current key. */
            publicKey: string;
            /**
             * Format: date-time
             * @description Time at which the markets were read, UTC.
             */
            madeAt: string;
        };
        MarketDigest: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /** @description Slug of the market. */
            slug: string | null;
            /**
             * @description Facts of the market.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /** @description `revision` of the market when it was read. */
            revision: number;
            /** @description Number of snapshots in the digest. */
            snapshots: number;
            /** @description SHA-256 in hex of every object of `…/snapshots` in order, each followed by a newline; for a recorded market these are the bytes of `…/export`. */
            snapshotsSha256: string;
            /** @description Number of trades in the digest. */
            trades: number;
            /** @description SHA-256 in hex of every object of `…/trades` in order, each followed by a newline, without a `transactionHash` that is null. */
            tradesSha256: string;
            /** @description SHA-256 in hex of the JSON array, without white space, of conditionId, symbol, timeframe, source, slug, windowStart, windowEnd, strike, finalPrice and winner, each as text (numbers with their printed digits) or null. */
            factsSha256: string;
        };
        SeriesDigest: {
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            coin: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Timeframe of the markets.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /** @description Revision, which increases when the digest changes; used in citations. */
            revision: number;
            /** @description SHA-256 in hex of one line for each market: conditionId, snapshotsSha256, tradesSha256 and factsSha256, separated by spaces, with a newline after each line. */
            sha256: string;
            /** @description By conditionId. */
            markets: components["schemas"]["MarketDigest"][];
        };
        Manifest: {
            /** @description Sequence number in the chain, from 1, without gaps. */
            sequence: number;
            /** @description UTC day on which the windows of the markets begin. */
            day: string;
            /** @description Revision of the day, from 1. */
            revision: number;
            /** @description SHA-256 in hex of the canonical JSON of `manifest`. */
            digest: string;
            /** @description `digest` of the previous manifest; null for the first. */
            previous: string | null;
            /** @description Ed25519 signature, in base64, of the text `bookfeed-manifest-1 SEQUENCE DAY REVISION DIGEST PREVIOUS`, where PREVIOUS is `-` if there is none. */
            signature: string;
            /** @description Public key of the signature: 32 bytes in base64. `/.well-known/bookfeed.json` has the current key. */
            publicKey: string;
            /** @description The signed document, in its canonical form (RFC 8785): members by name, no spaces. */
            manifest: {
                /** @description Version of these rules. */
                kind: string;
                /** @description Sequence number in the chain, from 1, without gaps. */
                sequence: number;
                /** @description UTC day on which the windows of the markets begin. */
                day: string;
                /** @description Revision of the day, from 1. */
                revision: number;
                /**
                 * Format: date-time
                 * @description Time at which the markets were read, UTC.
                 */
                madeAt: string;
                /** @description `digest` of the previous manifest; null for the first. */
                previous: string | null;
                /** @description Series by coin and timeframe. */
                series: components["schemas"]["SeriesDigest"][];
                /** @description Immutable files of the day. */
                files: {
                    /** @description Path of the file. */
                    path: string;
                    /** @description Its size. */
                    bytes: number;
                    /** @description SHA-256 in hex of its bytes. */
                    sha256: string;
                }[];
            };
        };
        Citation: {
            /** @description The full citation, with its revision. */
            citation: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Timeframe of the markets.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /** @description UTC day on which the windows of the markets begin. */
            day: string;
            /** @description Requested revision. */
            revision: number;
            /** @description Newest revision; if it differs, data has changed since. */
            newestRevision: number;
            /** @description True if the stored markets are still as cited. False for an older revision, and for the newest one after a change, until the next manifest of the day is signed. */
            isCurrent: boolean;
            /** @description SHA-256 in hex of the cited series, as in a manifest. */
            sha256: string;
            /** @description Number of markets. */
            markets: number;
            /** @description Number of snapshots. */
            snapshots: number;
            /**
             * Format: date-time
             * @description Time at which the markets were read, and the data was as cited.
             */
            asOf: string;
            /** @description Sequence number of the first manifest with this revision. */
            sequence: number;
            /** @description Path of that manifest. */
            manifest: string;
            /** @description Path of the list of markets. */
            data: string;
        };
        WellKnown: {
            /** @description Name of the service. */
            service: string;
            /** @description Algorithm of the signatures. */
            algorithm: string;
            /** @description Public key of the signature: 32 bytes in base64. `/.well-known/bookfeed.json` has the current key. */
            publicKey: string;
            /** @description The same key in the format of OpenSSL. */
            publicKeyPem: string;
            /** @description Head of the chain. Keep a copy to detect later changes of earlier manifests. */
            newest: {
                /** @description Sequence number in the chain, from 1, without gaps. */
                sequence: number;
                /** @description SHA-256 in hex of the canonical JSON of `manifest`. */
                digest: string;
            } | null;
            /** @description The chain. */
            manifests: string;
            /** @description Resolves a citation. */
            citations: string;
        };
        CalibrationMoment: {
            /** @description Milliseconds before the end of the window. */
            beforeEndMs: number;
            /** @description Standard deviation of the price over the time that is left: the square root of the mean of ln(price at the end ÷ price now)². Six digits. */
            deviation: number;
            /** @description Windows, by distance: below the first edge, between each two edges, from the last edge on. */
            windows: number[];
            /** @description Number of these windows that Up won, by distance: below the first edge, between each two edges, from the last edge on. */
            ups: number[];
        };
        CalibrationTable: {
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Timeframe.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * @description Where the books come from: the venue, or our simulator.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /**
             * Format: date-time
             * @description Time at which the table was computed.
             */
            madeAt: string;
            /**
             * Format: date-time
             * @description Start of the oldest window in the table.
             */
            from: string;
            /**
             * Format: date-time
             * @description Start of the newest window in the table.
             */
            to: string;
            /** @description Smallest number of windows at any moment. */
            markets: number;
            /** @description Bounds between distances that are counted together: ln(price ÷ strike) ÷ `deviation`. A distance on a bound counts above it. */
            edges: number[];
            /** @description Moments, the earliest first. */
            moments: components["schemas"]["CalibrationMoment"][];
        };
        Export: {
            /** @description Value of `X-Export-Id` in the response. */
            exportId: string;
            /** @description Name of the file, without the extension. */
            name: string;
            /**
             * @description `complete` if everything was sent.
             * @enum {string}
             */
            state: "running" | "complete" | "broken_off";
            /**
             * @description Format of the file.
             * @enum {string}
             */
            format: "ndjson" | "csv" | "parquet" | "npz" | "tardis" | "pmxt";
            /**
             * @description Encoding of the response; `bytes` and `sha256` refer to the encoded bytes.
             * @enum {string|null}
             */
            contentEncoding: "gzip" | null;
            /** @description Snapshots sent. */
            snapshots: number;
            /** @description Bytes sent, after encoding. */
            bytes: number;
            /** @description SHA-256 of the bytes sent, in hex; null until the export is complete. */
            sha256: string | null;
            /**
             * Format: date-time
             * @description Start of the response.
             */
            startedAt: string;
            /**
             * Format: date-time
             * @description End of the response; null while it is being sent.
             */
            endedAt: string | null;
        };
        TestKey: {
            /** @description A test key. It reads simulated data only and is not a secret. */
            key: string;
        };
        Challenge: {
            /** @description Sign-In-with-Ethereum message (EIP-4361). Have the wallet sign it exactly as it is. */
            message: string;
            /** @description Nonce of the message. */
            nonce: string;
            /**
             * Format: date-time
             * @description Expiry, exclusive.
             */
            expiresAt: string;
        };
        NewKey: {
            /** @description The API key, shown only once. Store it as a secret. */
            key: string;
            /** @description Id of the key; not a secret. */
            id: string;
            /** @description Your label; null if there is none. */
            label: string | null;
            /** @description Last characters of the key. */
            hint: string;
            /** @description Id of the account's tier. */
            tier: string;
            /**
             * Format: date-time
             * @description Time of creation.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Always null: a new key does not expire.
             */
            expiresAt: string | null;
            /** @description Wallet of the account in lower case; null for an account made by the operator. */
            address: string | null;
        };
        Key: {
            /** @description Id of the key; not a secret. */
            id: string;
            /** @description Your label; null if there is none. */
            label: string | null;
            /** @description Last characters of the key. */
            hint: string;
            /**
             * @description `expiring` if the key was replaced.
             * @enum {string}
             */
            status: "active" | "expiring";
            /** @description True for the key of this request. */
            isCurrent: boolean;
            /**
             * Format: date-time
             * @description Time of creation.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Expiry, exclusive; null if the key does not expire.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description Time of the last use, accurate to seconds; null if never used.
             */
            lastUsedAt: string | null;
        };
        RotatedKey: {
            /** @description The API key, shown only once. Store it as a secret. */
            key: string;
            /** @description Id of the key; not a secret. */
            id: string;
            /** @description Your label; null if there is none. */
            label: string | null;
            /** @description Last characters of the key. */
            hint: string;
            /** @description Id of the account's tier. */
            tier: string;
            /**
             * Format: date-time
             * @description Time of creation.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Always null: a new key does not expire.
             */
            expiresAt: string | null;
            /** @description Wallet of the account in lower case; null for an account made by the operator. */
            address: string | null;
            /** @description Id of the replaced key. */
            replaces: {
                /** @description Id of the key; not a secret. */
                id: string;
                /**
                 * Format: date-time
                 * @description End of the old key, exclusive.
                 */
                expiresAt: string;
            };
        };
        UsageDay: {
            /**
             * Format: date
             * @description Day in UTC.
             */
            date: string;
            /** @description Requests answered. */
            requests: number;
            /** @description Bytes of the answers, as sent, without headers. */
            bytes: number;
            /** @description Sums by route, in the order of their names. */
            routes: {
                /** @description Requests answered. */
                route: string;
                /** @description Requests answered. */
                requests: number;
                /** @description Bytes of the answers, as sent, without headers. */
                bytes: number;
            }[];
        };
        Usage: {
            /** @description Limits and rights of the current tier. */
            tier: {
                /** @description Id of the tier. */
                id: string;
                /** @description Display name of the tier. */
                name: string;
                requestsPerMinute: number;
                coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
                routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            };
            /** @description Subscription that gives the tier; null on the Free tier. */
            period: {
                /**
                 * Format: date-time
                 * @description Start of the period, inclusive.
                 */
                startsAt: string;
                /**
                 * Format: date-time
                 * @description End of the period, exclusive; null if it never ends.
                 */
                endsAt: string | null;
            } | null;
            /** @description Rate limits of this key, shared with the keys that it replaced. */
            windows: {
                data: {
                    /** @description Requests a minute. */
                    limit: number;
                    /** @description Requests left. */
                    remaining: number;
                    /**
                     * Format: date-time
                     * @description End of the window.
                     */
                    resetsAt: string;
                };
                billing: {
                    /** @description Requests a minute. */
                    limit: number;
                    /** @description Requests left. */
                    remaining: number;
                    /**
                     * Format: date-time
                     * @description End of the window.
                     */
                    resetsAt: string;
                };
            };
            /** @description Packs with requests left, oldest first; absent if there are none. */
            packs?: {
                /** @description Payment that bought the pack. */
                paymentId: string;
                /** @description Display name. */
                name: string;
                /** @description Requests bought. */
                requests: number;
                /** @description Requests used. */
                used: number;
            }[];
            /** @description Days with requests of the account's keys, newest first, 90 days back. */
            days: components["schemas"]["UsageDay"][];
        };
        Sample: {
            /** @description Coins that can be read on the routes of `routes`. */
            coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
            /** @description Routes, as named by tiers. */
            routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            /** @description Requests a minute for each network address. */
            requestsPerMinute: number;
            /** @description An expired market whose routes can all be read: a recorded market with high coverage, or else a simulated one. Null if there is none. */
            market: {
                /**
                 * @description Its coin.
                 * @enum {string}
                 */
                symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
                /** @description Id of the market in paths. */
                conditionId: string;
                /** @description The venue's name of the market. */
                slug: string | null;
            } | null;
            /** @description Markets of these sources can be read on all routes, for any coin, also while they are open. `simulated` markets are generated by the server. */
            sources: ("recorded" | "simulated")[];
        };
        Tier: {
            /** @description Identifier of the tier. */
            id: string;
            /** @description Same as `id`, under the name that a purchase uses. */
            tierId: string;
            /** @description Display name of the tier. */
            name: string;
            /** @description Coins that the tier includes. */
            coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
            /** @description Kinds of data that the tier includes. */
            routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            /** @description Requests a minute for each API key. */
            requestsPerMinute: number;
            /** @description Concurrent exports for each account. */
            concurrentStreams: number;
            /** @description Price of a period in USDC, as a decimal; null if it is negotiated. */
            priceUsdc: string | null;
            /** @description Days that a payment buys; null if the tier is not for sale. */
            periodDays: number | null;
            /** @description True if the tier can be bought here. */
            isForSale: boolean;
            /** @description Where to ask for a tier that is not for sale; otherwise null. */
            contact: string | null;
            /**
             * Format: date-time
             * @description Since when purchases are paused because payments cannot be settled; null while they are open.
             */
            pausedSince: string | null;
        };
        Chain: {
            /** @description CAIP-2 identifier of the chain. */
            network: string;
            /** @description Display name. */
            name: string;
            chainId: number;
            explorer: string;
            /** @description Block tag at which a payment counts as final. */
            finality: string;
            tokens: {
                /**
                 * @description Symbol of the token.
                 * @enum {string}
                 */
                symbol: "USDC" | "USDT";
                /** @description Name in the token contract. */
                name: string;
                /** @description Contract of the token, checksummed. */
                address: string;
                decimals: number;
                /**
                 * @description Transfer method: `eip3009` needs no approval; `permit2` needs the token to be approved once.
                 * @enum {string}
                 */
                transferMethod: "eip3009" | "permit2";
                /** @description EIP-712 domain to sign with; null for Permit2, which has its own. */
                eip712Domain: {
                    name: string;
                    version: string;
                } | null;
                /** @description True if the token can be used now. */
                enabled: boolean;
                /** @description Why the token cannot be used; null if it can. */
                reason: string | null;
            }[];
        };
        PaymentQuote: {
            /** @description `quoteId` of POST /v1/billing/x402/quote. */
            quoteId: string;
            /**
             * Format: date-time
             * @description End of the validity, exclusive: sign and settle before it.
             */
            expiresAt: string;
            paymentRequirements: components["schemas"]["PaymentRequirements"];
            paymentRequired: components["schemas"]["PaymentRequired"];
            /** @description Wallet of your account, in lower case, if only it can pay this quote; null if any wallet can, because the amount is unique. */
            payer: string | null;
            /** @description Tier and period for sale. */
            tier: {
                /** @description Identifier of the tier. */
                tierId: string;
                /** @description Display name of the tier. */
                name: string;
                /** @description Days that the payment buys. */
                periodDays: number;
            };
            /**
             * Format: date-time
             * @description Start of the period if the payment were made now: at once, or after the periods you have of the same or a higher tier.
             */
            startsAt: string;
            chain: {
                /** @description CAIP-2 identifier of the chain. */
                network: string;
                /** @description Display name. */
                name: string;
                chainId: number;
                explorer: string;
                /** @description Block tag at which a payment counts as final. */
                finality: string;
            };
            token: {
                /**
                 * @description Symbol of the token.
                 * @enum {string}
                 */
                symbol: "USDC" | "USDT";
                /** @description Name in the token contract. */
                name: string;
                /** @description Contract of the token, checksummed. */
                address: string;
                decimals: number;
                /**
                 * @description Transfer method: `eip3009` needs no approval; `permit2` needs the token to be approved once.
                 * @enum {string}
                 */
                transferMethod: "eip3009" | "permit2";
                /** @description EIP-712 domain to sign with; null for Permit2, which has its own. */
                eip712Domain: {
                    name: string;
                    version: string;
                } | null;
            };
            /** @description Payment of your account for the same tier and token that is pending or was made within the last hour; absent if there is none, and with `anotherPeriod`. Do not sign anything: poll `pollUrl` until the payment is decided. */
            paymentInFlight?: {
                /** @description Id of the payment. */
                paymentId: string;
                /**
                 * @description State of the payment.
                 * @enum {string}
                 */
                paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
                /** @description Path to poll, relative to the server; the same as the header Location. */
                pollUrl: string;
            };
        };
        SubscriptionPeriod: {
            /** @description Id of the period. */
            id: string;
            /** @description Identifier of the tier. */
            tierId: string;
            /**
             * Format: date-time
             * @description Start of the period, inclusive.
             */
            startsAt: string;
            /**
             * Format: date-time
             * @description End of the period, exclusive; null if it never ends.
             */
            endsAt: string | null;
            /** @description Payment that paid for the period; null if the operator granted it. */
            paymentId: string | null;
        };
        /** @description Proof on the chain that the money arrived. */
        PaymentProof: {
            /** @description Id of the payment. */
            paymentId: string;
            /** @description Hash of the transaction. */
            transaction: string;
            /** @description CAIP-2 identifier of the chain. */
            network: string;
            /**
             * @description Symbol of the token.
             * @enum {string}
             */
            token: "USDC" | "USDT";
            /** @description Paid amount, in atomic units of the token. */
            amount: string;
            /** @description Paid amount as a decimal, in units of the token. */
            amountUsd: string;
            /** @description Address that paid, in lower case. */
            payer: string;
            /** @description Page of a block explorer for the transaction. */
            explorerUrl: string;
        };
        PaidSettlement: {
            /**
             * @description Paid and provisioned.
             * @enum {string}
             */
            status: "active";
            subscription: components["schemas"]["SubscriptionPeriod"];
            settlement: components["schemas"]["PaymentProof"];
        };
        PendingSettlement: {
            /**
             * @description Pending: do not pay again.
             * @enum {string}
             */
            status: "pending";
            /** @description Id of the payment. */
            paymentId: string;
            /**
             * @description State of the payment.
             * @enum {string}
             */
            paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
            /** @description Why the payment is not made yet, if the payer is the cause. */
            reason?: string;
            /**
             * @description Next step for the payer.
             * @enum {string}
             */
            retryAction: "sign_anew" | "retry_same_payment" | "poll" | "approve_then_retry" | "wait_and_retry" | "abandon" | "ask_operator";
            /** @description Path to poll, relative to the server; the same as the header Location. */
            pollUrl: string;
            /**
             * Format: date-time
             * @description Time from which the signed payment can no longer be executed.
             */
            authorizationExpiresAt: string;
            /** @description Only for purchases without a key: send it as `claim` to the same path to get the state of the payment, and the key. Store it as a secret. */
            claim?: string;
        };
        /** @description Requests bought. */
        BoughtRequests: {
            /** @description Id of the payment. */
            paymentId: string;
            /** @description Id of the pack or tier. */
            packId: string;
            /** @description Display name. */
            name: string;
            /** @description Requests bought. */
            requests: number;
            /** @description Requests already answered. */
            used: number;
            /**
             * Format: date-time
             * @description Time of the purchase.
             */
            boughtAt: string;
        };
        Payment: {
            /**
             * @description `active`: paid and provisioned. `pending`: not decided yet, do not pay again. `failed`: certainly not paid. `review`: the operator decides.
             * @enum {string}
             */
            status: "active" | "pending" | "failed" | "review";
            /** @description Id of the payment. */
            paymentId: string;
            /**
             * @description State of the payment.
             * @enum {string}
             */
            paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
            /** @description Code of the reason for the state; new codes may be added. */
            reason?: string;
            /**
             * @description Next step for the payer.
             * @enum {string}
             */
            retryAction?: "sign_anew" | "retry_same_payment" | "poll" | "approve_then_retry" | "wait_and_retry" | "abandon" | "ask_operator";
            /** @description Path to poll, relative to the server; the same as the header Location. */
            pollUrl?: string;
            /**
             * Format: date-time
             * @description Time from which the signed payment can no longer be executed.
             */
            authorizationExpiresAt?: string;
            subscription?: components["schemas"]["SubscriptionPeriod"];
            requests?: components["schemas"]["BoughtRequests"];
            settlement?: components["schemas"]["PaymentProof"];
        };
        Receipt: {
            /** @description Id of the payment. */
            paymentId: string;
            /** @description `quoteId` of POST /v1/billing/x402/quote. */
            quoteId: string;
            /**
             * @description `active`: paid and provisioned. `pending`: not decided yet, do not pay again. `failed`: certainly not paid. `review`: the operator decides.
             * @enum {string}
             */
            status: "active" | "pending" | "failed" | "review";
            /**
             * @description State of the payment.
             * @enum {string}
             */
            paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
            /** @description Code of the reason for the state; new codes may be added. */
            reason: string | null;
            /** @description Product as it was when it was bought. */
            tier: {
                /** @description Identifier of the tier. */
                tierId: string;
                /** @description Display name of the tier. */
                name: string;
                /** @description Days bought; 0 for a pack. */
                periodDays: number;
                /** @description Requests bought; absent for a tier. */
                requests?: number;
            };
            /** @description Period that was paid for; null until it is provisioned. */
            subscription: {
                /** @description Id of the period. */
                id: string;
                /** @description Identifier of the tier. */
                tierId: string;
                /**
                 * Format: date-time
                 * @description Start of the period, inclusive.
                 */
                startsAt: string;
                /**
                 * Format: date-time
                 * @description End of the period, exclusive; null if it never ends.
                 */
                endsAt: string | null;
                /** @description Payment that paid for the period; null if the operator granted it. */
                paymentId: string | null;
            } | null;
            /** @description Paid amount, in atomic units of the token. */
            amount: string;
            /** @description Paid amount as a decimal, in units of the token. */
            amountUsd: string;
            /**
             * @description Symbol of the token.
             * @enum {string}
             */
            token: "USDC" | "USDT";
            /** @description CAIP-2 identifier of the chain. */
            network: string;
            /** @description Address that paid, in lower case. */
            payer: string;
            /** @description Hash of the transaction. */
            transaction: string | null;
            /** @description Page of a block explorer for the transaction. */
            explorerUrl: string | null;
            /**
             * Format: date-time
             * @description Time at which the payment was received.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Time of the last change.
             */
            updatedAt: string;
        };
        Subscription: {
            /** @description Limits and rights of the current tier. */
            tier: {
                /** @description Identifier of the tier. */
                id: string;
                /** @description Display name of the tier. */
                name: string;
            };
            /** @description Current period; null on the Free tier. */
            current: {
                /** @description Id of the period. */
                id: string;
                /** @description Identifier of the tier. */
                tierId: string;
                /**
                 * Format: date-time
                 * @description Start of the period, inclusive.
                 */
                startsAt: string;
                /**
                 * Format: date-time
                 * @description End of the period, exclusive; null if it never ends.
                 */
                endsAt: string | null;
                /** @description Payment that paid for the period; null if the operator granted it. */
                paymentId: string | null;
            } | null;
            /** @description Later periods, by start. */
            upcoming: components["schemas"]["SubscriptionPeriod"][];
            /** @description True if no period is active and the Free tier applies. */
            free: boolean;
        };
        Health: {
            /**
             * @description Always `ok`; a dead process does not respond.
             * @enum {string}
             */
            status: "ok";
            /** @description Version of the server. */
            version: string;
        };
        Readiness: {
            /**
             * @description Always true; otherwise the response is a 503.
             * @enum {boolean}
             */
            ready: true;
            checks: {
                /** @description The history can be read and written. */
                history: boolean;
                /** @description The ledger of keys can be read and written. */
                ledger: boolean;
                /** @description The server has started and is not stopping. */
                accepting: boolean;
                /** @description Rows from the venue can be stored. Absent if this process does not record. */
                recording?: boolean;
            };
            signup: {
                /** @description New accounts can sign up. Never makes the server unready. */
                open: boolean;
                /** @description Why signup is closed, or currently refused. */
                reason?: string;
            };
            /** @description Problem of recording, in this process or another, of the clock, or of selling; requests may still be sent. */
            warning?: string;
        };
        Pack: {
            /** @description Id of the pack or tier. */
            id: string;
            /** @description Display name. */
            name: string;
            /** @description Requests bought. */
            requests: number;
            coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
            routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            requestsPerMinute: number;
            /** @description Price in units of the token, as a decimal. */
            priceUsdc: string;
            /** @description True if it can be bought. */
            isForSale: boolean;
        };
        Bought: {
            /**
             * @description Paid and provisioned to the account of the payer.
             * @enum {string}
             */
            status: "active";
            /** @description What was bought. */
            product: {
                /** @description Id of the pack or tier. */
                id: string;
                /** @description Display name. */
                name: string;
                /** @description Days that a tier was bought for. */
                periodDays?: number;
                /** @description Requests of a bought pack. */
                requests?: number;
            };
            /** @description Period that was bought. Null for a pack; also null if no key was sent and `key` is null. */
            subscription: {
                /** @description Id of the period. */
                id: string;
                /** @description Identifier of the tier. */
                tierId: string;
                /**
                 * Format: date-time
                 * @description Start of the period, inclusive.
                 */
                startsAt: string;
                /**
                 * Format: date-time
                 * @description End of the period, exclusive; null if it never ends.
                 */
                endsAt: string | null;
                /** @description Payment that paid for the period; null if the operator granted it. */
                paymentId: string | null;
            } | null;
            /** @description Requests bought. */
            requests: {
                /** @description Id of the payment. */
                paymentId: string;
                /** @description Id of the pack or tier. */
                packId: string;
                /** @description Display name. */
                name: string;
                /** @description Requests bought. */
                requests: number;
                /** @description Requests already answered. */
                used: number;
                /**
                 * Format: date-time
                 * @description Time of the purchase.
                 */
                boughtAt: string;
            } | null;
            /** @description API key, if this payment created the account. Store it as a secret. Null if the account existed before, if a key was sent, after the first use of the key, if the same payment is sent again without its `payment-identifier`, and for another payment that was not signed later than the first. */
            key: string | null;
            /** @description How the owner of the wallet gets a key; null if `key` is set or a key was sent. */
            howToGetKey: string | null;
            settlement: components["schemas"]["PaymentProof"];
        };
        ResourceList: {
            version: number;
            /** @description Packs and tiers for sale; empty if nothing is sold without a key. */
            resources: string[];
            /** @description Path of the API document. */
            openapi: string;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listCoins: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The coins. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description All coins, including those without recordings. */
                        data: components["schemas"]["Coin"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listMarkets: {
        parameters: {
            query?: {
                /** @description Only windows of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Only markets with this status at the time of the request; `closed` means without a known winner. */
                status?: "upcoming" | "open" | "closed" | "resolved";
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
                /** @description First moment, inclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Only markets with this winner. */
                outcome?: "up" | "down";
                /** @description `true` leaves out markets without snapshots, which are known from the venue's catalogue only. */
                withBooks?: boolean;
                /** @description Only the market with this slug of the venue: a list of one, or of none if the coin has no such market. Cannot be combined with filters. For example btc-updown-5m-1776153600. Slugs of simulated markets begin with `sim-`. */
                slug?: string;
                /** @description Order by window: `desc` for newest first, `asc` for oldest first. */
                order?: "asc" | "desc";
                /** @description Markets on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of markets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Markets by the start of their windows. */
                        data: components["schemas"]["Market"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getMarket: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The market. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Market"];
                };
            };
        };
    };
    getMarketCoverage: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of the requested time. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of the requested time. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its coverage. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Coverage"];
                };
            };
        };
    };
    listCoverage: {
        parameters: {
            query?: {
                /** @description A moment of the first day. Default: 31 days before `to`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive: the last day is that of the moment before. Default: 31 days after `from`, or today. At most 366 days. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Only windows of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Days. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Days of the range, oldest first. */
                        data: components["schemas"]["CoverageDay"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listDays: {
        parameters: {
            query?: {
                /** @description A moment of the first day. Default: 31 days before `to`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive: the last day is that of the moment before. Default: 31 days after `from`, or today. At most 366 days. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Only windows of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Days. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Every day of the range, oldest first, with an entry for each kind. */
                        data: components["schemas"]["DayKind"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getSettlement: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Its settlement. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Settlement"];
                };
            };
        };
    };
    listSettlements: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Only windows of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
                /** @description Only windows with this agreement. */
                agreement?: "agrees" | "disagrees" | "unknown";
                /** @description Order by window: `desc` for newest first, `asc` for oldest first. */
                order?: "asc" | "desc";
                /** @description Windows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of windows. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Ended windows, by start. */
                        data: components["schemas"]["Settlement"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    listIncidents: {
        parameters: {
            query?: {
                /** @description First moment, inclusive. Default: 7 days before `to`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive. Default: 7 days after `from`, or now. At most 31 days. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Takes precedence over `Accept`, which may be `application/json` or `application/atom+xml`. Default: JSON. */
                format?: "json" | "atom";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Incidents, as JSON or as an Atom feed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Incidents that overlap the range, newest first. */
                        data: components["schemas"]["Incident"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                    "application/atom+xml": string;
                };
            };
        };
    };
    listSnapshots: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Snapshots on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Only the last snapshot of each outcome in each step of this length, including the end of the step. The snapshot keeps its `timestamp` and is returned once: a step without a change has no row. A step longer than the market has the market's last snapshots. On an open market, a step is returned once a later state of each requested outcome is recorded (if an outcome has been silent for long, a later state of the market), so a returned row never changes. With `view=consolidated` and one `outcome`, the last row in each step. */
                interval?: "1s" | "5s" | "10s" | "15s" | "30s" | "1m" | "5m" | "15m" | "30m" | "1h" | "4h" | "1d";
                /** @description Levels of each side, from the best; all when absent. */
                depth?: number;
                /** @description Only these fields of each snapshot, joined by commas, for example `timestamp,bids,asks`; all but `receivedAt` when absent. Known are `id`, `assetId`, `conditionId`, `symbol`, `outcome`, `timeframe`, `timestamp`, `bids`, `asks`, `receivedAt`, `sources`. */
                fields?: string | readonly string[];
                /** @description `own`: the book as recorded. `consolidated`: one executable ladder of that book and the mirror of the other outcome's (who sells "down" at 0.4 buys "up" at 0.6), each level with its `source`, prevailing at the same moment. Each state of either book makes a row: of its own outcome, or of `outcome` where you send that. The venue shows an order in both books, so sizes are never added up. */
                view?: "own" | "consolidated";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of snapshots. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Snapshots by time, then by id. */
                        data: components["schemas"]["Snapshot"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listChanges: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of changes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description One row per state, by `timestamp`, then by `id`: those of `…/snapshots`. */
                        data: components["schemas"]["Change"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getSnapshotsAt: {
        parameters: {
            query: {
                /** @description The moment: the state prevailing then, at or before it and never after. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                ts: number | (string | Date) | string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Oldest state that is wanted, in milliseconds before `ts`; any when absent. */
                maxAgeMs?: number;
                /** @description Levels of each side, from the best; all when absent. */
                depth?: number;
                /** @description Only these fields of each snapshot, joined by commas, for example `timestamp,bids,asks`; all but `receivedAt` when absent. Known are `id`, `assetId`, `conditionId`, `symbol`, `outcome`, `timeframe`, `timestamp`, `bids`, `asks`, `receivedAt`, `sources`. */
                fields?: string | readonly string[];
                /** @description `own`: the book as recorded. `consolidated`: one executable ladder of that book and the mirror of the other outcome's (who sells "down" at 0.4 buys "up" at 0.6), each level with its `source`, prevailing at the same moment. Each state of either book makes a row: of its own outcome, or of `outcome` where you send that. The venue shows an order in both books, so sizes are never added up. */
                view?: "own" | "consolidated";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What prevailed. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /**
                         * Format: date-time
                         * @description The requested moment, UTC.
                         */
                        ts: string;
                        /** @description The last snapshot of each outcome by `ts`, `up` before `down`. Outcomes without a recent enough snapshot are left out. */
                        data: components["schemas"]["AgedSnapshot"][];
                    };
                };
            };
        };
    };
    listSnapshotsAt: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Moments of markets of the coin, in any order. */
                    requests: {
                        /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                        conditionId: string;
                        /**
                         * @description Outcome of the book.
                         * @enum {string}
                         */
                        outcome: "up" | "down";
                        /** @description The moment: the state prevailing then, at or before it and never after. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                        ts: number | (string | Date) | string;
                    }[];
                    /** @description Oldest state that is wanted, in milliseconds before `ts`; any when absent. */
                    maxAgeMs?: number;
                    /** @description Levels of each side, from the best; all when absent. */
                    depth?: number;
                    /**
                     * Format: names
                     * @description Only these fields of each snapshot, joined by commas, for example `timestamp,bids,asks`; all but `receivedAt` when absent. Known are `id`, `assetId`, `conditionId`, `symbol`, `outcome`, `timeframe`, `timestamp`, `bids`, `asks`, `receivedAt`, `sources`.
                     */
                    fields?: string | readonly string[];
                    /**
                     * @description `own`: the book as recorded. `consolidated`: one executable ladder of that book and the mirror of the other outcome's (who sells "down" at 0.4 buys "up" at 0.6), each level with its `source`, prevailing at the same moment. Each state of either book makes a row: of its own outcome, or of `outcome` where you send that. The venue shows an order in both books, so sizes are never added up.
                     * @default own
                     * @enum {string}
                     */
                    view?: "own" | "consolidated";
                };
            };
        };
        responses: {
            /** @description One result for each entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description One result for each request, in the order of the requests. */
                        data: {
                            /** @description Condition id of the market; for an unknown market the requested name, in lower case. */
                            conditionId: string;
                            /**
                             * @description Requested moment.
                             * @enum {string}
                             */
                            outcome: "up" | "down";
                            /**
                             * Format: date-time
                             * @description The requested moment, UTC.
                             */
                            ts: string;
                            /** @description Without `fields` every member is there, but not `receivedAt`, and `sources` only with `view=consolidated`; with `fields` those that it names. */
                            snapshot: {
                                /** @description Snapshot identifier: decimal digits, rising in the order of acceptance. */
                                id?: string;
                                /** @description Identifier of the outcome's token; null only with `view=consolidated`, where it is not known and the ladder is the mirror of the other outcome's. */
                                assetId?: string | null;
                                /** @description Market identifier: `0x` and lower-case hex digits. */
                                conditionId?: string;
                                /**
                                 * @description Coin in lower case.
                                 * @enum {string}
                                 */
                                symbol?: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
                                /**
                                 * @description Outcome whose book this is.
                                 * @enum {string}
                                 */
                                outcome?: "up" | "down";
                                /**
                                 * @description Length of the market's window.
                                 * @enum {string}
                                 */
                                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                                /**
                                 * Format: date-time
                                 * @description The venue's time, UTC, milliseconds.
                                 */
                                timestamp?: string;
                                /** @description Buy side, best (highest) first; `[]` when empty. */
                                bids?: components["schemas"]["Level"][];
                                /** @description Sell side, best (lowest) first; `[]` when empty. */
                                asks?: components["schemas"]["Level"][];
                                /**
                                 * Format: date-time
                                 * @description Only where `fields` names it: when the recorder received the state, by the recorder's clock, UTC, milliseconds; null where that is not known.
                                 */
                                receivedAt?: string | null;
                                sources?: components["schemas"]["LadderSources"];
                            } | null;
                            /** @description Milliseconds from the `timestamp` of the snapshot to `ts`; for `stale`, the age of the snapshot that is too old. */
                            ageMs: number | null;
                            /**
                             * @description Error code of the entry, as the single `GET` would return it with a 404; null if there is a snapshot. `unknown_market`: the coin has no such market. `no_snapshot`: nothing of the outcome was recorded by then. `stale`: the last snapshot is older than `maxAgeMs`.
                             * @enum {string|null}
                             */
                            error: "unknown_market" | "no_snapshot" | "stale" | null;
                        }[];
                    };
                };
            };
        };
    };
    getFill: {
        parameters: {
            query: {
                /** @description The moment: the state prevailing then, at or before it and never after. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                ts: number | (string | Date) | string;
                /** @description Traded outcome. */
                outcome: "up" | "down";
                /** @description Side of the order: a buy takes asks, a sell takes bids. */
                side: "buy" | "sell";
                /** @description Shares, above 0 and at most 9000000000, at most six decimals. Send either this or `usdc`. */
                size?: string | number;
                /** @description USDC before fees, in the same bounds: the amount to spend on a buy, or to receive for a sell. Shares are rounded down to millionths. */
                usdc?: string | number;
                /** @description `own`: the order book of the outcome. `consolidated`: that book merged with the mirror of the other outcome's book. The venue shows each order in both books, so sizes are never added up. */
                view?: "own" | "consolidated";
                /** @description Fee in basis points of the traded value, 0 to 10000, at most four decimals; replaces the fees of the market. */
                feeBps?: string | number;
                /** @description Rate of the venue's schedule, 0 to 1, at most six decimals: each level costs shares × rate × price × (1 − price). Replaces the fees of the market. The venue's rate for takers in markets of coins was `0.07` in 2026. */
                feeRate?: string | number;
                /** @description The fees that the market had at `ts`, or none. */
                fees?: "market" | "none";
                /** @description Latency of the order to the venue, in milliseconds; 0 by default. */
                latencyMs?: number;
                /** @description Delay of the venue in milliseconds, `0` for none; by default that of the market at `ts`. */
                delay?: number;
                /** @description Worst price: above 0 and below 1, with at most six decimals. */
                limitPrice?: string | number;
                /** @description Oldest state that is wanted, in milliseconds before `ts`; any when absent. */
                maxAgeMs?: number;
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The fill. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Fill"];
                };
            };
        };
    };
    getRestingFill: {
        parameters: {
            query: {
                /** @description Traded outcome. */
                outcome: "up" | "down";
                /** @description Side of the order. */
                side: "buy" | "sell";
                /** @description Price of the order: above 0 and below 1, at most six decimals, a multiple of the price increment of the market. */
                price: string | number;
                /** @description Shares, above 0 and at most 9000000000, at most six decimals. */
                size: string | number;
                /** @description Time at which the order is sent. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from: number | (string | Date) | string;
                /** @description Time at which the order is cancelled, exclusive; at most a week after `from`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                until: number | (string | Date) | string;
                /** @description Latency of the order to the venue, in milliseconds; 0 by default. */
                latencyMs?: number;
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The bounds. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RestingFill"];
                };
            };
        };
    };
    listQuotes: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`, or of `time` with `interval`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of `timestamp`, or of `time` with `interval`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Returns the prevailing state at each step of this length instead of every change; steps are multiples of it since 1970, UTC. A step after the expiry has no row, so with `1h` most markets of five minutes have none. */
                interval?: "1s" | "5s" | "10s" | "15s" | "30s" | "1m" | "5m" | "15m" | "30m" | "1h" | "4h" | "1d";
                /** @description Only these fields of each quote, separated by commas, for example `timestamp,bid,ask,receivedAt`; by default all except `receivedAt`. The number of rows does not change. Known are `time`, `ageMs`, `id`, `outcome`, `timestamp`, `bid`, `bidSize`, `ask`, `askSize`, `mid`, `spread`, `imbalance`, `receivedAt`. */
                fields?: string | readonly string[];
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of quotes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Quotes by `timestamp`, then by `id`; with `interval` by `time`, `up` before `down`. Reversed by `order=desc`. */
                        data: components["schemas"]["Quote"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    listCurrentPrices: {
        parameters: {
            query?: {
                /** @description Only markets of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Open markets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Open markets, newest window first. */
                        data: components["schemas"]["OpenMarket"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                        /** @description Newest spot price of the coin; null if none is recorded. GET /v1/{coin}/spot has its history. */
                        spot: {
                            /** @description In USD, with every digit of its source. */
                            price: number;
                            /** @description Who publishes it. */
                            source: string;
                            /** @description Seconds that it is an average of; 0 for the price of the moment. */
                            windowSeconds: number;
                            /**
                             * Format: date-time
                             * @description The source's time, UTC.
                             */
                            timestamp: string;
                        } | null;
                    };
                };
            };
        };
    };
    listPrices: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`; with `interval` of the states that bars are made of. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of `timestamp`; with `interval` of the states that bars are made of. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Returns bars of this length instead of every change; bars begin at multiples of it since 1970, UTC. */
                interval?: "1s" | "5s" | "10s" | "15s" | "30s" | "1m" | "5m" | "15m" | "30m" | "1h" | "4h" | "1d";
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of prices. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Changes by `timestamp`, then by `id`; bars by `start`, `up` before `down`. Reversed by `order=desc`. */
                        data: (components["schemas"]["Price"] | components["schemas"]["Bar"])[];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getBoard: {
        parameters: {
            query?: {
                /** @description Only windows of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Open windows. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Open windows of your coins, by coin, then by end. */
                        data: components["schemas"]["BoardWindow"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    followBoard: {
        parameters: {
            query?: {
                /** @description Only windows of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, until the client disconnects or the server stops. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    listTrades: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of trades. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Trades by `timestamp`; within a millisecond by outcome, price, size, side and transaction, regardless of their arrival. Reversed by `order=desc`. */
                        data: components["schemas"]["Trade"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getPanel: {
        parameters: {
            query: {
                /** @description Only markets of this timeframe. */
                timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Moments before the expiry, 1 to 8, separated by commas: a minus sign, a whole number, and `ms`, `s`, `m` or `h`. None may lie before the window. */
                offsets: string | readonly string[];
                /** @description First moment, inclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Markets on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Largest age of a state or price at its moment, in milliseconds: older ones are left out, and `up`, `down` or `spot` is null. */
                maxAgeMs?: number;
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the panel. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Rows by start of window, then in the order of `offsets`. */
                        data: components["schemas"]["PanelRow"][];
                        /** @description Cursor of the next page; null if no more markets have expired. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getHeatmap: {
        parameters: {
            query?: {
                /** @description First moment, inclusive; by default the start of the window. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive; by default the end of the window. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Whose book. */
                outcome?: "up" | "down";
                /** @description Number of equal price bins between 0 and 1. */
                priceBins?: "10" | "20" | "50" | "100" | "200";
                /** @description Largest number of columns; each is a whole number of milliseconds. */
                timeBins?: number;
                /** @description Value of a cell over the sizes during its column: the largest, the last, or the time-weighted average. To see pulled liquidity, compare `max` with `last`. */
                agg?: "max" | "last" | "time-weighted";
                /** @description Adds `trades`, and `pulled` and `traded` to each column: the size by which each cell fell since the end of the previous column, split into withdrawn orders and trades. */
                include?: "removed";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cells. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Heatmap"];
                };
            };
        };
    };
    exportMarket: {
        parameters: {
            query?: {
                /** @description Takes precedence over `Accept`, which may be `application/x-ndjson`, `text/csv` or `application/vnd.apache.parquet`. Default: NDJSON, also if `Accept` has none of them. `Accept: application/zip` is `npz`. `npz`, `tardis` and `pmxt` are files that engines of backtests load: arrays of hftbacktest, CSV of Tardis, Parquet of the PMXT archive. They have changes and trades, the first two of one `outcome`, `up` by default, and no `shape`, `depth`, `include` or `after`. */
                format?: "ndjson" | "csv" | "parquet" | "npz" | "tardis" | "pmxt";
                /** @description Only of `tardis`: `book` (the default), rows of `incremental_book_L2`, or `trades`. */
                kind?: "book" | "trades";
                /** @description `levels` (the default) and `states` are for CSV and Parquet: one row per level, whole books; one row per snapshot with its best `depth` levels of each side. `changes` is for every format: the levels that changed, as in `…/changes`. */
                shape?: "levels" | "states" | "changes";
                /** @description Only for CSV and Parquet, not of `changes`: levels of each side. All by default with `levels`; 10 by default and at most 25 with `states`. */
                depth?: number;
                /** @description Adds the time at which the recorder received the snapshot: the last member `receivedAt` of NDJSON, the last column `received_at` of CSV and Parquet. */
                include?: "receivedAt";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description First moment, inclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Resumes an interrupted download: the `id` of the last snapshot that was received completely, such as 1482734. Append the response to the file; CSV then has no header. Not for Parquet. */
                after?: string;
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. `GET /v1/exports` shows whether it was sent completely. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                    "application/zip": string;
                };
            };
        };
    };
    exportDay: {
        parameters: {
            query: {
                /** @description A UTC day, or a moment in it. The file has the markets whose windows begin on that day; a market with an unknown window belongs to the day of its first snapshot. */
                day: string | (string | Date) | number;
                /** @description Takes precedence over `Accept`, which may be `application/x-ndjson`, `text/csv` or `application/vnd.apache.parquet`. Default: NDJSON, also if `Accept` has none of them. */
                format?: "ndjson" | "csv" | "parquet";
                /** @description Only markets of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
                /** @description `levels` (the default) and `states` are for CSV and Parquet: one row per level, whole books; one row per snapshot with its best `depth` levels of each side. `changes` is for every format: the levels that changed, as in `…/changes`. */
                shape?: "levels" | "states" | "changes";
                /** @description Only for CSV and Parquet, not of `changes`: levels of each side. All by default with `levels`; 10 by default and at most 25 with `states`. */
                depth?: number;
                /** @description Adds the time at which the recorder received the snapshot: the last member `receivedAt` of NDJSON, the last column `received_at` of CSV and Parquet. */
                include?: "receivedAt";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Resumes an interrupted download: `conditionId:id` of the last snapshot that was received completely; a slug or an asset id also identifies the market. Not for Parquet. */
                after?: string;
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. `GET /v1/exports` shows whether it was sent completely. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/x-ndjson": string;
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    followMarket: {
        parameters: {
            query?: {
                /** @description Which rows: those of the route of this name, and of `trades` each trade. Needs a tier with that route, `trades` one with `prices`, and `changes` one with `snapshots`. */
                channel?: "snapshots" | "changes" | "quotes" | "prices" | "trades";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description For `snapshots` only. Levels of each side, from the best; all when absent. */
                depth?: number;
                /** @description Seconds without an event after which a comment line is sent. */
                heartbeat?: number;
                /** @description Resume after this position: the `id` of an event, or `nextCursor` or `X-Resume-Cursor` of the channel's route with the same outcome and depth, in ascending order and without a range. By default the stream begins now. The header `Last-Event-ID` takes precedence. */
                cursor?: string;
            };
            header?: {
                /** @description Same as `cursor`; `EventSource` sends it when it reconnects. */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                conditionId: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, until the client disconnects or the server stops. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    followCoin: {
        parameters: {
            query?: {
                /** @description Which rows: those of the route of this name, and of `trades` each trade. Needs a tier with that route, `trades` one with `prices`, and `changes` one with `snapshots`. */
                channel?: "snapshots" | "changes" | "quotes" | "prices" | "trades";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description For `snapshots` only. Levels of each side, from the best; all when absent. */
                depth?: number;
                /** @description Seconds without an event after which a comment line is sent. */
                heartbeat?: number;
                /** @description Only markets of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Resume after this position in each market: the `id` of an event of this route. All other parameters except `heartbeat` must be the same. By default the stream begins now. The header `Last-Event-ID` takes precedence. */
                cursor?: string;
            };
            header?: {
                /** @description Same as `cursor`; `EventSource` sends it when it reconnects. */
                "Last-Event-ID"?: string;
            };
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events, until the client disconnects or the server stops. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    listSpot: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`; with `interval` of the ticks that bars are made of. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                from?: number | (string | Date) | string;
                /** @description End, exclusive, of `timestamp`; with `interval` of the ticks that bars are made of. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                to?: number | (string | Date) | string;
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Only prices of this source, such as `chainlink`; by default all. */
                source?: string;
                /** @description Only averages over this number of seconds (TWAP), such as 60; 0 for spot prices. By default all. */
                window?: number;
                /** @description Returns bars of this length instead of every price; bars begin at multiples of it since 1970, UTC. */
                interval?: "1s" | "5s" | "10s" | "15s" | "30s" | "1m" | "5m" | "15m" | "30m" | "1h" | "4h" | "1d";
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of prices. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Prices by `timestamp`, then by `source` and `windowSeconds`; bars by `start`. Reversed by `order=desc`. */
                        data: (components["schemas"]["Spot"] | components["schemas"]["SpotBar"])[];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                        /** @description Why the list is empty: no price of the coin was ever recorded. Otherwise null. */
                        reason: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    listFiles: {
        parameters: {
            query?: {
                /** @description Only files of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Only files of this day in UTC. */
                day?: string | (string | Date) | number;
                /** @description Only files of this kind. */
                kind?: "snapshots" | "levels" | "quotes" | "trades" | "panel" | "changes";
                /** @description Only files with this type of numbers. */
                numbers?: "decimal" | "double";
                /** @description Adds `link` to each file of the newest revision: a URL that needs no header, valid for this time. */
                links?: "10m" | "1h" | "6h" | "1d" | "7d";
                /** @description Files on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of files. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Files by timeframe, then newest day first. */
                        data: components["schemas"]["DayFile"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description One range of bytes (RFC 9110), such as `bytes=-8`. */
                Range?: string;
            };
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description `name` of a file in GET /v1/{coin}/files. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.apache.parquet": string;
                };
            };
            /** @description Requested range. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getLinkedFile: {
        parameters: {
            query?: never;
            header?: {
                /** @description One range of bytes (RFC 9110), such as `bytes=-8`. */
                Range?: string;
            };
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
                /** @description A link, as `link` of a file has it. */
                link: string;
                /** @description `name` of a file in GET /v1/{coin}/files. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The file. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.apache.parquet": string;
                };
            };
            /** @description Requested range. */
            206: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getArchiveSql: {
        parameters: {
            query: {
                /** @description Kind of the files. */
                kind: "snapshots" | "levels" | "quotes" | "trades" | "panel" | "changes";
                /** @description Only files of this timeframe; by default all. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Prices and sizes as DECIMAL, exact, or as DOUBLE. */
                numbers?: "decimal" | "double";
                /** @description First day in UTC. */
                from: string | (string | Date) | number;
                /** @description End in UTC, exclusive: the day after the last one. */
                to: string | (string | Date) | number;
                /** @description How long the links are valid. */
                links?: "10m" | "1h" | "6h" | "1d" | "7d";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The statement. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/sql": string;
                };
            };
        };
    };
    listSampleFiles: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The files. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Files by coin, timeframe and kind. */
                        data: components["schemas"]["DayFile"][];
                    };
                };
            };
        };
    };
    listRevisions: {
        parameters: {
            query?: {
                /** @description First time of change, inclusive, by the server's clock. Unix milliseconds (below 100000000000: seconds), RFC 3339 such as 2026-04-14T08:00:10Z, or a date (00:00 UTC). */
                since?: number | (string | Date) | string;
                /** @description Only changes of this coin; by default all coins of your tier. */
                coin?: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
                /** @description Changes on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of changes. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Changes, in the order in which they were made. */
                        data: components["schemas"]["Revision"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                        /**
                         * Format: date-time
                         * @description Time since when the list is complete; earlier changes are unknown.
                         */
                        completeSince: string;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    listManifests: {
        parameters: {
            query?: {
                /** @description Manifests on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Takes precedence over `Accept`, which may name `application/json`, `text/csv` or `application/vnd.apache.parquet`. JSON by default, also when `Accept` names none of them. CSV and Parquet have one row per entry of `data`, and columns named as its members in snake case (`condition_id`), `object_member` where these are in an object; `nextCursor` is the header `X-Next-Cursor`. */
                format?: "json" | "csv" | "parquet";
                /** @description Only for Parquet: prices, sizes and shares as exact DECIMAL(38,18), the default, or as DOUBLE. */
                numbers?: "decimal" | "double";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of the manifest chain. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Manifests in the order of the chain. */
                        data: components["schemas"]["ManifestRow"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                    "text/csv": string;
                    "application/vnd.apache.parquet": string;
                };
            };
        };
    };
    getManifest: {
        parameters: {
            query?: {
                /** @description The manifest with this sequence number. */
                sequence?: number;
                /** @description The newest manifest of this UTC day. */
                day?: string | (string | Date) | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Manifest and signature. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Manifest"];
                };
            };
        };
    };
    getCitation: {
        parameters: {
            query: {
                /** @description A citation such as `bookfeed:btc/5m/2026-04-14@r3`: coin, timeframe, UTC day and revision; without `@r3` the newest revision. */
                id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The cited data. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Citation"];
                };
            };
        };
    };
    getWellKnown: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WellKnown"];
                };
            };
        };
    };
    getCalibration: {
        parameters: {
            query?: {
                /** @description Only the table of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            };
            header?: never;
            path: {
                /** @description Coin in any case: btc, eth, sol, xrp, doge, bnb, hype, zec. */
                coin: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Calibration tables of the coin. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Tables by timeframe, shortest first; empty until they are first computed. */
                        data: components["schemas"]["CalibrationTable"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listExports: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The exports. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description The last 20 exports, newest first. */
                        data: components["schemas"]["Export"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createTestKey: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TestKey"];
                };
            };
        };
    };
    createChallenge: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Address of your wallet: `0x` and 40 hex digits, case-insensitive. */
                    address: string;
                };
            };
        };
        responses: {
            /** @description The message. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Challenge"];
                };
            };
        };
    };
    listKeys: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The keys. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Valid keys, oldest first. */
                        data: components["schemas"]["Key"][];
                        /** @description Always null: the list has one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    createKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description Your own name for this request, 1 to 255 visible ASCII characters. Sent again within a day with the same body, it gets the same answer, marked `Idempotent-Replayed: true`, and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description `message` of POST /v1/keys/challenge, unchanged. */
                    message: string;
                    /** @description The wallet's signature of the message (EIP-191 or ERC-1271): `0x` and hex. */
                    signature: string;
                    /** @description Label of your choice. */
                    label?: string;
                    /** @description True to make a key only if the account has no valid one; otherwise the response is 409 `key_limit`. By default a key is always made, and if the account has bought nothing, the old key ends. */
                    keepKeys?: boolean;
                };
            };
        };
        responses: {
            /** @description The new key. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NewKey"];
                };
            };
        };
    };
    rotateKey: {
        parameters: {
            query?: never;
            header?: {
                /** @description Your own name for this request, 1 to 255 visible ASCII characters. Sent again within a day with the same body, it gets the same answer, marked `Idempotent-Replayed: true`, and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path: {
                /** @description Id of the key; not a secret. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description Seconds for which the old key remains valid; 0 ends it at once.
                     * @default 86400
                     */
                    overlapSeconds?: number;
                    /** @description Label of your choice. */
                    label?: string;
                };
            };
        };
        responses: {
            /** @description The new key. */
            201: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RotatedKey"];
                };
            };
        };
    };
    revokeKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the key; not a secret. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The key is revoked. */
            204: {
                headers: {
                    [name: string]: unknown;
                };
                content?: never;
            };
        };
    };
    labelKey: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the key; not a secret. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Label of your choice. */
                    label: string;
                };
            };
        };
        responses: {
            /** @description The updated key. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Key"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Limits and usage. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
        };
    };
    getSample: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The sample. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Sample"];
                };
            };
        };
    };
    listTiers: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The catalogue. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Tier"][];
                };
            };
        };
    };
    listChains: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The chains. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Chain"][];
                };
            };
        };
    };
    createQuote: {
        parameters: {
            query?: never;
            header?: {
                /** @description Your own name for this request, 1 to 255 visible ASCII characters. Sent again within a day with the same body, it gets the same answer, marked `Idempotent-Replayed: true`, and nothing is done twice. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Id of the tier, from GET /v1/billing/tiers. */
                    tierId: string;
                    /** @description Chain to pay on, from GET /v1/billing/x402/chains. */
                    network: string;
                    /** @description Symbol of the token to pay with. */
                    token: string;
                    /** @description Wallet that will sign; by default the wallet of your account. Any other wallet pays a unique amount, slightly below the price. */
                    payer?: string;
                    /** @description True to buy one more period, although a payment for the same tier and token is pending or was made within the last hour. By default the quote of that payment is returned, with `paymentInFlight`. */
                    anotherPeriod?: boolean;
                };
            };
        };
        responses: {
            /** @description The offer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaymentQuote"];
                };
            };
        };
    };
    settlePayment: {
        parameters: {
            query?: never;
            header?: {
                /** @description Payment payload of x402 v2 as JSON in Base64, at most 16384 bytes; instead of `paymentPayload`. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description Signed payment payload of x402 v2; alternative to the header PAYMENT-SIGNATURE. */
                    paymentPayload?: {
                        [key: string]: unknown;
                    };
                    /** @description Quote whose challenge is returned if no payment is sent. A payment itself identifies its quote. */
                    quoteId?: string;
                };
            };
        };
        responses: {
            /** @description Paid and provisioned. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaidSettlement"];
                };
            };
            /** @description Pending. Do not pay again. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PendingSettlement"];
                };
            };
        };
    };
    getPayment: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of the payment. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The payment. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Payment"];
                };
            };
        };
    };
    listPayments: {
        parameters: {
            query?: {
                /** @description Payments on a page. */
                limit?: number;
                /** @description `nextCursor` of the previous page, unchanged. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of payments. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Payments, newest first. */
                        data: components["schemas"]["Receipt"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    getSubscription: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The subscription. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Subscription"];
                };
            };
        };
    };
    getHealth: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The process is running. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Health"];
                };
            };
        };
    };
    getReadiness: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Send requests. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Readiness"];
                };
            };
        };
    };
    getErrors: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A heading for each code. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/markdown": string;
                    "text/html": string;
                };
            };
        };
    };
    getLlmsText: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The page. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/plain": string;
                };
            };
        };
    };
    getStreamDocument: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The document. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Version of AsyncAPI. */
                        asyncapi: string;
                        /** @description Title, version and description. */
                        info: {
                            [key: string]: unknown;
                        };
                        /** @description Media type of messages. */
                        defaultContentType: string;
                        /** @description Where to connect. */
                        servers: {
                            [key: string]: unknown;
                        };
                        /** @description The stream and its messages. */
                        channels: {
                            [key: string]: unknown;
                        };
                        /** @description Messages that a client sends and receives. */
                        operations: {
                            [key: string]: unknown;
                        };
                        /** @description Messages and schemas. */
                        components: {
                            [key: string]: unknown;
                        };
                    };
                };
            };
        };
    };
    listPacks: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The packs. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Pack"][];
                };
            };
        };
    };
    buyPack: {
        parameters: {
            query?: never;
            header?: {
                /** @description Payment payload of x402 v2 as JSON in Base64, at most 16384 bytes. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path: {
                /** @description Id of the pack or tier. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The `claim` of a 202, instead of a payment: returns the state of that payment, and its key until the key is used for the first time. */
                    claim?: string;
                };
            };
        };
        responses: {
            /** @description Paid and provisioned to the account of the payer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bought"];
                };
            };
            /** @description Pending. Send `claim` to the same path, and do not sign another payment. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PendingSettlement"];
                };
            };
        };
    };
    buyTier: {
        parameters: {
            query?: {
                /** @description `true` to buy one more period although the wallet has paid for the tier within the last hour. By default the earlier payment is returned, and the new one is not settled. */
                anotherPeriod?: "true" | "false";
            };
            header?: {
                /** @description Payment payload of x402 v2 as JSON in Base64, at most 16384 bytes. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path: {
                /** @description Id of the pack or tier. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The `claim` of a 202, instead of a payment: returns the state of that payment, and its key until the key is used for the first time. */
                    claim?: string;
                };
            };
        };
        responses: {
            /** @description Paid and provisioned to the account of the payer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bought"];
                };
            };
            /** @description Pending. Send `claim` to the same path, and do not sign another payment. */
            202: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PendingSettlement"];
                };
            };
        };
    };
    listResources: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The addresses. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ResourceList"];
                };
            };
        };
    };
}
