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
         * @description What is recorded of each coin. Needs no key: everybody may see what there is.
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
         * Markets of a coin
         * @description Newest window first. `source` says which markets are listed: recorded and simulated ones are mixed only with `all`. A market whose window is unknown is placed at its first snapshot, which `from` and `to` then mean. With `status`, a market that changes its own during a walk may be left out of it.
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
         * @description What is known of a market, how much is held of it, and how complete that is. GET /v1/{coin}/markets?slug= finds one by the name that the venue gives it.
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
         * What is recorded of a market
         * @description Per outcome when it is recorded and when it is not, and why. A book prevails from its snapshot to the next; where the next one is more than `silenceMs` later, the time between, from the millisecond after the snapshot, counts as a gap, because it is not known whether nothing happened or nothing was seen. Recordings often begin before the window: then so does the market.
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
         * What is recorded of a coin, by day
         * @description One entry for each UTC day, also for one without any market. A market belongs to the day in which its window begins, and its coverage is that of its window. One whose window is not known belongs to the day of its first snapshot, where it counts as `window_unknown` and in no window. Days that are over are up to a minute old.
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
    "/v1/{coin}/markets/{conditionId}/snapshots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * History of a market's order books
         * @description Full-depth books by `timestamp`, then by `id`, best level first. Follow `nextCursor` until it is `null`: a walk repeats nothing and skips nothing that was there when it began, even while rows are being written. To follow an open market, resume from `X-Resume-Cursor`. Send `Accept-Encoding: gzip`: pages are stored compressed, about 90 bytes a snapshot instead of 3,000. `depth`, `interval` and `fields` leave out what you do not need; the rest stays the same.
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
    "/v1/{coin}/markets/{conditionId}/snapshots/at": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The book as of a moment
         * @description The last snapshot of each outcome at or before `ts`, to the millisecond and never after it, with its age; in a gap or after the expiry that is the last one before, and `X-Coverage` says so. An outcome that has none by then, or none that `maxAgeMs` allows, is left out; if that leaves nothing, 404 says why.
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
         * Books as of up to 500 moments
         * @description Each entry is answered by itself, in the order of the request, as `GET …/snapshots/at` would: one that has no answer says why and fails no other. All together are one request of the allowance. A malformed entry is refused with its place, and nothing is answered.
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
         * What an order would have filled at a moment
         * @description Walks the ladder prevailing at `ts` (at or before, never after) with a market order, or one that is limited by `limitPrice`. Arithmetic is exact; an amount of money is rounded once, when it is printed. Nothing of the queue, of latency or of the order’s own effect on the market is modelled.
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
    "/v1/{coin}/markets/{conditionId}/quotes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Best bid and ask over time
         * @description Without `interval` every change of best bid, best ask or their sizes: a state that equals the previous one of its outcome is left out; the first state of each outcome in the range is always there. With `interval` the state prevailing at each step, at or before it and never after. A step in a gap, before the first state or after the expiry (or after the last state, where that is later) has no row, because what prevailed is not known; so an interval longer than the market often has no rows at all. On an open market a step appears once a later state of each requested outcome is recorded. Follow `nextCursor` until it is null; resume later from `X-Resume-Cursor`.
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
         * @description Every market of the coin that is open now, with the last state of both outcomes and the last trade. A market whose window is over is not there; a market whose window is unknown is, until its history is closed. Send the `ETag` as `If-None-Match`: as long as no state or trade has come and no market has opened or closed, the answer is a 304.
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
         * Prices of a market over time
         * @description Without `interval` one row for each state at which the mid or the last trade changed; the first state of each outcome in the range is always there. With `interval` bars: open, high, low and close of the mid over the states that lie both in the range and in the step; a step without a state has no bar. `from` and `to` need not be multiples of the interval: a bar that they cut is made of the states inside the range, and its `covered` is below 1. While a market is open its last bars may still grow: `X-Resume-Cursor` lies before them, so they are returned again.
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
         * Every open window now
         * @description Every window that is open now, of every coin of your tier: time, strike, price of the coin, settlement average so far, best prices, depth, volume, the state of the recording, and how it came to this. Made at most four times a second. To follow it, use GET /v1/board/live. A market whose window is unknown is there until its history is closed. A window whose stored data is damaged has null for what is read of it, and `damaged` as the state of its recording. `X-Coverage` is of all windows together that are not damaged.
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
         * The board as it changes
         * @description Server-sent events. `board`: `data` is an object with `time`, the moment that it is of, `data`, the rows of GET /v1/board that changed, without `history`, and `closed`, the condition ids of windows that are not open any more; the first has every row. An event without rows comes when nothing changed for five seconds. At most two a second: a row that changed more often is sent as it is then, and a slow reader skips what was in between. `stale`, `current` and `end` are those of GET /v1/{coin}/live. A connection that takes nothing for 60 seconds is cut off. Counted like an export, and bounded like connections of /v1/stream.
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
         * Trades of a market
         * @description Every trade that the venue announced while the market was recorded. Last trade prices that were imported are none: `lastTrade` of prices has them. Trades of a gap of the books are missing, and the venue announces no trade twice.
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
         * Every market at moments before its expiry
         * @description One row per market and offset: the state prevailing at that moment before the expiry (at or before it, never after), and the outcome that won. A market is in the panel once its expiry is past, so a row changes later only through a backfill or when its winner becomes known. A market whose window is not known is in no panel; if books of it are held in the range, `X-Coverage` says `window_unknown`. `X-Coverage` also counts the moments of windows that are not held, between `from`, the cursor or the first market and the last market or, on the last page, `to`. Follow `nextCursor` until it is null; resume later from `X-Resume-Cursor`. `lastTrade` and `spot` belong to the routes of `prices`: a tier without them gets rows, and tables, without these members.
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
         * Liquidity by price and time
         * @description The sizes of a book in cells of price and time, made of every recorded state: what a state shows counts from its moment to that of the next one, as far as the book is known then. Sizes of levels in one bin are added up; `max` and `last` are exact, averages are rounded to hundredths. With `include=removed` each column says what was pulled and what was traded, exactly.
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
         * All snapshots of a market as one file
         * @description One stream of any length, sent as fast as you read it. NDJSON holds the objects of `snapshots`, one per line; with `Accept-Encoding: gzip` it is sent as it is stored, about 90 bytes a snapshot. CSV and Parquet have `timestamp`, `id`, `conditionId`, `outcome`, then with `shape=levels` `side` (`bid` or `ask`), `level` (1 is the best), `price`, `size`, one row per level; a snapshot without any level is one row without a side. With `shape=states` they have `bid_price_1`, `bid_size_1` … `ask_price_1` … instead, one row per snapshot. With `include=receivedAt` the time at which the recorder received the state comes last: `receivedAt`, or the column `received_at`; null or empty where it is not known. Where any market of the file is simulated, each row ends with its `source`, as a member or column. Parquet: times as TIMESTAMP, prices and sizes as DECIMAL(18,6). A connection that takes nothing for 60 seconds is cut off. Resume an interrupted download with `after`.
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
         * All snapshots of a coin and day as one file
         * @description The markets of a day one after the other, oldest window first, each as in its own export. `X-Coverage` also counts windows that are not held: of `timeframe`, or of each timeframe held that day. One stream of any length, sent as fast as you read it. NDJSON holds the objects of `snapshots`, one per line; with `Accept-Encoding: gzip` it is sent as it is stored, about 90 bytes a snapshot. CSV and Parquet have `timestamp`, `id`, `conditionId`, `outcome`, then with `shape=levels` `side` (`bid` or `ask`), `level` (1 is the best), `price`, `size`, one row per level; a snapshot without any level is one row without a side. With `shape=states` they have `bid_price_1`, `bid_size_1` … `ask_price_1` … instead, one row per snapshot. With `include=receivedAt` the time at which the recorder received the state comes last: `receivedAt`, or the column `received_at`; null or empty where it is not known. Where any market of the file is simulated, each row ends with its `source`, as a member or column. Parquet: times as TIMESTAMP, prices and sizes as DECIMAL(18,6). A connection that takes nothing for 60 seconds is cut off. Resume an interrupted download with `after`.
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
         * A market as it happens
         * @description Server-sent events (WHATWG HTML), as `EventSource` reads them. First `snapshot` events with the last row of each outcome, unless a place is given to continue from, only the last of them with an `id`; then a `row` event for each row as it is written: `data` is exactly the row of the route of the channel, `id` its cursor. `gap`: a gap began, or is known better, or has ended. `market_open`, `market_update` (more is known of it, such as its strike), `market_closed`, `market_resolved`: `data` is the market. `stale`: the server has not heard from its database, and sends nothing of what was recorded `since`; `current`: that is over, and what was recorded came before it. `end`, the last event: your key or your tier does not include the stream any more, or keys cannot be checked; `data` has the `code` and `detail` of a problem document. Comment lines are heartbeats and padding. With `Accept-Encoding: gzip` the events are one gzip member without an end, each complete as it comes: whole books (`snapshots` without `depth`) as they are stored, other rows as what changed since the one before. Counted and bounded like an export. A connection that takes nothing for 60 seconds is cut off; a slow reader gets every row later. `EventSource` sends no `Authorization`: read the stream with `fetch`, and never put a key into an address.
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
         * Every open market of a coin as it happens
         * @description Markets that open join, with `market_open` and then their last rows as `snapshot` events; they leave when they are resolved. The `id` of an event is a place in every market, so after reconnecting you get everything that was recorded of any of them in between, and what opened in between from its first row on. In `quotes`, `prices` and `trades`, whose rows do not name their market, `conditionId` is the first member of `data`, before those of the row. Server-sent events (WHATWG HTML), as `EventSource` reads them. First `snapshot` events with the last row of each outcome, unless a place is given to continue from, only the last of them with an `id`; then a `row` event for each row as it is written: `data` is exactly the row of the route of the channel, `id` its cursor. `gap`: a gap began, or is known better, or has ended. `market_open`, `market_update` (more is known of it, such as its strike), `market_closed`, `market_resolved`: `data` is the market. `stale`: the server has not heard from its database, and sends nothing of what was recorded `since`; `current`: that is over, and what was recorded came before it. `end`, the last event: your key or your tier does not include the stream any more, or keys cannot be checked; `data` has the `code` and `detail` of a problem document. Comment lines are heartbeats and padding. With `Accept-Encoding: gzip` the events are one gzip member without an end, each complete as it comes: whole books (`snapshots` without `depth`) as they are stored, other rows as what changed since the one before. Counted and bounded like an export. A connection that takes nothing for 60 seconds is cut off; a slow reader gets every row later. `EventSource` sends no `Authorization`: read the stream with `fetch`, and never put a key into an address.
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
         * Reference prices of a coin
         * @description What markets are settled by, as feeds publish it: every price that was recorded, or bars. A server without a source of prices has none, and `reason` says so. Prices of different sources and averages are different series: `source` and `window` choose one. The settlement of 5m, 15m and 4h markets is by Chainlink's average of a minute, `window=60`.
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
         * Files of whole days
         * @description Parquet files of each day (UTC) and timeframe that is final: all its windows are over, their history is sealed, and every winner is known or three days have passed. A file never changes. If something of the day becomes known later, another revision is made and listed beside it. Empty where the operator makes no files.
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
         * A file of a day, or a part of it
         * @description The file as it was made. `Range` gives one part of it (206), with `If-Range` only of the same file; more than one range at once gives the whole file. DuckDB, pandas and polars read so what they need of it. A tier must include what the routes of the same data need: every file needs `snapshots`, `quotes` also `quotes`, and `trades` and `panel` (which has last trades) also `prices`.
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
    "/v1/revisions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What changed after it was served
         * @description Every change of what could be served before, and why: rows that came late or by an import, facts that became known or were corrected, gaps, deletions. What a market gains after its last snapshot while it is recorded is no change of what was served, and is not listed. `completeSince` says since when changes are noted; what changed before is not known. Keep `X-Resume-Cursor` to ask for what is new.
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
         * The chain of manifests
         * @description Every manifest with its signature, in order: enough to check the chain. Each names the digest of the one before, so none can be changed or left out unseen. Needs no key, so that anybody may keep a copy.
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
         * The digests of a day
         * @description Digests of every market whose window begins in a UTC day: of its snapshots, its trades and its facts, to be compared with what the other routes serve. Made once the markets of the day are closed and their winners known, three days after it at the latest, and again when something of it changed. Without a parameter the newest.
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
         * What a citation stands for
         * @description A citation such as `bookfeed:btc/5m/2026-04-14@r3` names the markets of a coin, timeframe and UTC day as they were at a revision. The answer has their digest, the manifest that was signed over it, the moment at which the data was as cited, and whether it still is.
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
         * The key that signs manifests
         * @description The public key, and the head of the chain.
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
         * How often Up won, by distance from the strike
         * @description In how many windows Up won, by the distance of the price of the coin from the strike, in standard deviations of the time that is left, and by that time. Counted once a day from at most 5,000 windows of each length that are over and have a strike, a winner and prices of the coin within ten seconds of each moment; windows that are void are left out. If windows of the coin are recorded, simulated ones are not counted. The share of the entry nearest to a window is what the board shows as its fair price.
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
         * What became of your exports
         * @description Whether each export was sent completely, how many snapshots it had, and its SHA-256 to check a file against. The last 20 exports of an account, until the server restarts.
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
         * @description Returns a sandbox key, `bf_test_…`, without a wallet; the server stores nothing. It reads two simulated hours with every route, follows a live stream that repeats them, and requests faults with the header `Bookfeed-Fault`: `rate_limited`, `stale`, `gap`, `slow` or `payment_pending`. Each response to it has `Bookfeed-Mode: test`. All test keys of a network address share one rate window.
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
         * Begin a signup
         * @description Gives a message for your wallet to sign, good for five minutes. Nothing is stored, and signing it moves no funds.
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
         * Your account's keys
         * @description Keys that are valid now, oldest first. The keys themselves are never shown again.
         */
        get: operations["listKeys"];
        put?: never;
        /**
         * Get an API key
         * @description Takes the signed message of POST /v1/keys/challenge and gives a key of the wallet's account, which begins on the Free tier. An account that never paid has one key: the new one ends the old one at once. The address is screened for sanctions. The key is shown this once.
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
         * @description Gives a new key in place of one of yours. The old one continues to work for `overlapSeconds`; both share one allowance. A key that was replaced already cannot be again. With an `overlapSeconds` of 0 the key that asks may end itself, and the answer cannot be asked for again.
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
         * @description Ends one of your keys at once and for good; also the one that asks. Revoking it again changes nothing.
         */
        delete: operations["revokeKey"];
        options?: never;
        head?: never;
        /**
         * Label a key
         * @description Gives one of your valid keys another label. Doing so again changes nothing.
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
         * Your tier, allowances and usage
         * @description The allowances are those of the key that asks; requests and bytes are those of all keys of the account.
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
         * What may be read without a key
         * @description With `Authorization: Bearer sample` in place of a key, GET answers what the Free tier includes (also of coins of which only simulated markets are held), everything of one market that is over, and everything of simulated markets. Each address has a window of its own. Anything else is 401, as without a key.
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
         * The catalogue of tiers
         * @description The live catalogue. What was bought stays as it was when it was bought. While purchases are paused, because payments cannot be settled, `pausedSince` of the tiers for sale says since when; a quote is then refused with `billing_unavailable`, and nothing is charged.
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
         * Chains and tokens to pay with
         * @description Tokens that cannot be paid with right now are listed with the reason.
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
         * Get an offer for a tier
         * @description Gives what a wallet signs to pay for a period of a tier; good for ten minutes. Nothing is owed by asking. The wallet of your account pays the plain price. Another wallet, named as `payer`, pays a little less: an amount that no other open offer has, because it alone says which offer is paid. An open offer for the same tier, token and payer that is valid for at least three more minutes is returned again. While a payment of your account for the same tier and token may still arrive, and for an hour after it was made, the answer is the quote of that payment with `paymentInFlight`, unless `anotherPeriod` asks for one more period.
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
         * Pay for an offer
         * @description Takes a signed payment, has it settled on the chain, and gives what it pays for. The same payment may be sent as often as you like: it is never taken twice, and finds what became of it. Without a payment, the answer is 402 with the challenge of `quoteId`, as x402 clients expect. While a payment of your account for the same tier and token may still arrive, and for an hour after it was made, the answer without a payment is that of the payment (200 or 202), as if it were sent again; only a quote with `anotherPeriod` is for a second one.
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
         * What became of a payment
         * @description One of your payments. While it is on its way, come back after `Retry-After`.
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
         * Your account's payments
         * @description A receipt for each payment, newest first.
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
         * Your tier, and what you have paid ahead
         * @description The period that runs, and those that have yet to begin.
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
         * Whether the process lives
         * @description Asks nothing of the storage. Restart the process when this fails.
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
         * Whether requests should be sent here
         * @description Fails while the server starts, until what it does in the background runs; while it stops, or cannot read or write its history or its ledger: both are written at most once a second to find out; while its copy of either is more than two seconds older than their database; while the clock of its machine and the clock of the database differ by more than two seconds; and while it records and cannot store what it hears, such as on a disk that is nearly full. `detail` says which, and why. A venue that does not answer is a `warning` and no failure: what is held is served. So are purchases that are paused because payments cannot be settled, a node of BOOKFEED_RPC_URL that is on another chain, and a clock that differs much from that of a chain that is sold on.
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
         * What each error code means, and what to do
         * @description Markdown, or a page for a browser. The `type` of a problem points into it.
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
         * The service in one page, for agents
         * @description Markdown as llmstxt.org has it: what there is, what to know, which route answers what.
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
         * The live stream (WebSocket) as an AsyncAPI document
         * @description Every operation and message of GET /v1/stream with its schema, as AsyncAPI 3.0 has it.
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
         * Requests to buy without a key
         * @description Packs of requests, and what a single request costs (`requests` is 1); empty where the operator sells nothing without a key. What was bought stays as it was.
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
         * @description Without a payment the answer is 402 with what to sign, as x402 clients expect; with one, the requests are those of the account of the wallet that paid. The answer shows a key if the account begins with this payment, which was on no chain before and was submitted here; otherwise `howToGetKey` says how the owner of the wallet gets one. A new signature of the same wallet within an hour is not submitted: if its `validBefore` (or `deadline`) is later than that of the first purchase, the answer is that of the first purchase, as it is for the `claim` of a 202 and for the same payment with the same `payment-identifier`. With the key of the account, the requests are added to those that it has. GET /v1/usage shows what is left.
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
         * Buy a tier without a key, and get one
         * @description Without a payment the answer is 402 with what to sign, as x402 clients expect; with one, the account of the wallet that paid has the tier. The answer shows a key if the account begins with this payment, which was on no chain before and was submitted here; otherwise `howToGetKey` says how the owner of the wallet gets one. A new signature of the same wallet within an hour is not submitted: if its `validBefore` (or `deadline`) is later than that of the first purchase, the answer is that of the first purchase, as it is for the `claim` of a 202 and for the same payment with the same `payment-identifier`. With the key of the account, `anotherPeriod=true` buys one more period within that hour.
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
         * What can be bought by x402 without a key
         * @description Addresses that answer 402 to a request without a payment.
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
             * @description Coin in lower case, as paths have it.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /** @description What people call it. */
            name: string;
            /** @description Where its books come from: the venue, our simulator, or both. */
            sources: ("recorded" | "simulated")[];
            /** @description Markets that are known. */
            markets: number;
            /** @description Those of them whose window runs now. */
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
             * @description Time of the last snapshot; null when there is none.
             */
            lastSnapshot: string | null;
            /** @description The same by timeframe, shortest first; those without a market are left out. */
            timeframes: {
                /**
                 * @description Length of the windows.
                 * @enum {string}
                 */
                timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Markets that are known. */
                markets: number;
                /** @description Those of them whose window runs now. */
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
                 * @description Time of the last snapshot; null when there is none.
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
            code: "invalid_parameter" | "invalid_request" | "challenge_invalid" | "signature_invalid" | "cursor_invalid" | "cursor_mismatch" | "payment_invalid" | "unauthenticated" | "payment_required" | "payment_rejected" | "tier_coin" | "tier_route" | "operator_only" | "not_found" | "unknown_coin" | "unknown_market" | "no_snapshot" | "stale" | "unknown_tier" | "unknown_network" | "unknown_token" | "unknown_offer" | "unknown_payment" | "unknown_file" | "unknown_key" | "method_not_allowed" | "market_conflict" | "challenge_used" | "tier_not_for_sale" | "offer_limit" | "payment_limit" | "offer_used" | "payment_conflict" | "payment_in_review" | "key_replaced" | "key_limit" | "offer_expired" | "allowance_required" | "challenge_expired" | "payload_too_large" | "unsupported_media_type" | "range_not_satisfiable" | "idempotency_mismatch" | "rate_limited" | "too_many_streams" | "sanctioned" | "internal" | "damaged" | "signup_closed" | "billing_unavailable" | "screening_unavailable" | "storage_unavailable" | "unavailable";
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
        /** @description How complete and how sure it is. */
        CoverageSummary: {
            /** @description Share of the time of the market in which the outcome is recorded, rounded down to six decimals; null while the market has had no time yet or its window is not known. GET …/coverage lists what is missing. */
            covered: number | null;
            /** @description Gaps in that time. */
            gaps: number;
            /** @description Longest time between two consecutive snapshots, milliseconds; null of fewer than two. */
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
            /** @description Identifier of the outcome's token; null until one is known. */
            assetId: string | null;
            /** @description Snapshots held of this outcome. */
            snapshots: number;
            /** @description Those of them whose books reproduce the venue's own hash. */
            verifiedSnapshots: number;
            /**
             * Format: date-time
             * @description Time of its first snapshot; null when there is none.
             */
            firstSnapshot: string | null;
            /**
             * Format: date-time
             * @description Time of its last snapshot; null when there is none.
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
             * @description `upcoming` before the window, `open` in it, `closed` after it, `resolved` once the winner is known.
             * @enum {string}
             */
            status: "upcoming" | "open" | "closed" | "resolved";
            /** @description The venue's name of the market. */
            slug: string | null;
            /** @description The question that the market asks. */
            question: string | null;
            /**
             * Format: date-time
             * @description Start of the window, inclusive; null where unknown.
             */
            windowStart: string | null;
            /**
             * Format: date-time
             * @description End of the window, exclusive; null where unknown.
             */
            windowEnd: string | null;
            /** @description Smallest step of prices, USDC per share, as the venue's catalogue had it when it was fetched; the step is smaller near 0 and 1. Null where unknown. */
            tickSize: number | null;
            /** @description The coin's price in USD that its price at the end is compared with, with every digit of its source; null where unknown. */
            strike: number | null;
            /** @description The coin's price in USD at the end of the window, with every digit of its source; null until known. */
            finalPrice: number | null;
            /**
             * @description Outcome that won; null until known, and of a market whose `result` is `void`.
             * @enum {string|null}
             */
            winner: "up" | "down" | null;
            /**
             * @description Who names the result: the venue, an imported data set, or our simulator; null without one.
             * @enum {string|null}
             */
            winnerSource: "venue" | "dataset" | "simulated" | null;
            /**
             * @description What the market came to: the outcome that won, or `void` where the venue paid half a dollar for each share of both; null until known.
             * @enum {string|null}
             */
            result: "up" | "down" | "void" | null;
            /**
             * @description What the price at the end of the window is: Chainlink's average of the last 60 or 30 seconds, its price of the moment, or the close of Binance's candle of an hour or a day; the strike is the same at the start. Null where nobody said so.
             * @enum {string|null}
             */
            settlementRule: "twap60" | "twap30" | "spot" | "binance-1h" | "binance-1d" | null;
            /**
             * @description Where the strike comes from: the venue's catalogue, its page with the prices of open windows, an imported data set, the final price of the window before (`chain`), the average that a price feed published for the start of the window (`feed`), or our simulator. Null where unknown.
             * @enum {string|null}
             */
            strikeSource: "catalogue" | "price_page" | "dataset" | "chain" | "feed" | "simulated" | null;
            /**
             * Format: date-time
             * @description The moment that `strike` is the price of; null where unknown.
             */
            strikeTime: string | null;
            /**
             * @description Where the final price comes from, named as in `strikeSource`; `chain` is the strike of the next window.
             * @enum {string|null}
             */
            finalPriceSource: "catalogue" | "price_page" | "dataset" | "chain" | "feed" | "simulated" | null;
            /**
             * Format: date-time
             * @description The moment that `finalPrice` is the price of; null where unknown.
             */
            finalPriceTime: string | null;
            /** @description Fees of the market's trades as the venue's catalogue stated them when it was asked last; changes are in GET /v1/revisions. Null where it states none, or says that fees are not enabled. */
            feeSchedule: {
                /** @description Rate of the fee. */
                rate: number;
                /** @description Exponent of the price in the fee. */
                exponent: number;
                /** @description Only takers pay it. */
                takerOnly: boolean;
                /** @description Share of the fee that makers get. */
                rebateRate: number;
            } | null;
            /** @description While the market is open, the newest price of the coin itself, as in GET /v1/{coin}/prices: of a simulated market a simulated one, of a recorded one never. Null before and after, where none is recorded, and for a tier without `prices`. */
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
            /** @description Up, then down. */
            outcomes: components["schemas"]["MarketOutcome"][];
            /** @description Snapshots held of both outcomes. */
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
            /** @description Rises whenever anything of the market or its history changes, also by a late backfill. */
            revision: number;
        };
        OutcomeCoverage: {
            /**
             * @description Outcome of the market.
             * @enum {string}
             */
            outcome: "up" | "down";
            /** @description Share of the requested time in which it is recorded, rounded down to six decimals; null of no time, and if the trading window is not known unless both `from` and `to` are sent. */
            covered: number | null;
            /** @description Time in which it is recorded, milliseconds. */
            coveredMs: number;
            /** @description When it is recorded. Intervals and gaps tile the requested time. */
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
            /** @description When it is not, and why. */
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
                 * @description `recorder_down`: we did not listen. `venue_silent`: we listened and nothing came. `venue_restart`: the venue restarted its matching engine, as it does on Tuesdays at 07:00 Eastern. `hash_mismatch`: the book contradicted the hash of the venue. `import`: the imported files hold nothing there. `not_open`: outside the time of the market.
                 * @enum {string}
                 */
                reason: "recorder_down" | "venue_silent" | "venue_restart" | "hash_mismatch" | "not_open" | "import";
            }[];
            /** @description What is held of the outcome, whatever `from` and `to`. */
            wholeMarket: {
                /** @description Snapshots held. */
                snapshots: number;
                /** @description Those whose books reproduce the venue's own hash. */
                verifiedSnapshots: number;
                /** @description Share of the snapshots whose books reproduce the venue's own hash, rounded down; null without snapshots. */
                verified: number | null;
                /** @description Longest time between two consecutive snapshots of an outcome; null where unknown, milliseconds. */
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
            /** @description `from` and `to` as they were sent. Where they were not: the time of the market, which is its window, if known, and what is held beyond it, up to now. */
            requested: {
                /**
                 * Format: date-time
                 * @description Start, inclusive; null when nothing is known of the market.
                 */
                from: string | null;
                /**
                 * Format: date-time
                 * @description End, exclusive; null when nothing is known of the market.
                 */
                to: string | null;
                /** @description Length, milliseconds. */
                durationMs: number;
            };
            /** @description The same over both outcomes. */
            covered: number | null;
            /** @description Snapshots of an outcome further apart than this have a gap between them, milliseconds. */
            silenceMs: number;
            /** @description Up, then down. */
            outcomes: components["schemas"]["OutcomeCoverage"][];
            /** @description Of the market; rises whenever anything of it changes. */
            revision: number;
        };
        CoverageDay: {
            /**
             * Format: date
             * @description UTC day in which the windows begin.
             */
            day: string;
            /**
             * @description `available`: of each timeframe of the day every window is there and fully recorded. `degraded`: something is missing, or the window of a market is not known. `missing`: nothing is recorded. `pending`: the day is not over.
             * @enum {string}
             */
            state: "available" | "degraded" | "missing" | "pending";
            /** @description Markets whose windows begin on the day. */
            markets: number;
            /** @description Timeframes of which there are markets, shortest first. */
            timeframes: {
                /**
                 * @description Length of the windows.
                 * @enum {string}
                 */
                timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Markets that are known. */
                markets: number;
                /** @description Windows of this length that a whole day has. */
                windows: number;
                /** @description Share of the windows' time that is recorded; null while none has begun. */
                covered: number | null;
            }[];
            /** @description Snapshots held. */
            snapshots: {
                /** @description Snapshots of up. */
                up: number;
                /** @description Snapshots of down. */
                down: number;
            };
            /** @description Share of the windows' time, over both outcomes, that is recorded, windows that are not held included, rounded down to six decimals; null while none has begun or no market is held. */
            covered: number | null;
            /** @description What is missing in the windows, by reason, added up over both outcomes; a window that is not held is one of each, `import`. */
            gaps: {
                /**
                 * @description As in `gaps` of a market; or `window_unknown`: snapshots are held of a market whose trading window is not known, so they count in no window and `durationMs` is 0.
                 * @enum {string}
                 */
                reason: "recorder_down" | "venue_silent" | "venue_restart" | "hash_mismatch" | "not_open" | "import" | "window_unknown";
                /** @description Gaps. */
                count: number;
                /** @description Together, milliseconds. */
                durationMs: number;
            }[];
            /** @description Share of the snapshots whose books reproduce the venue's own hash, rounded down; null without snapshots. */
            verified: number | null;
            /** @description Longest time between two consecutive snapshots of an outcome; null where unknown, milliseconds. */
            longestSilenceMs: number | null;
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
        /** @description A level that was used. */
        FillLevel: {
            /** @description USDC per share, exact. */
            price: number;
            /** @description Shares taken at this price, exact; of the last level often a part. */
            size: number;
            /**
             * @description Which book shows the level: the outcome's own, the mirror of the other's, or both with the same size.
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
             * @description Outcome that is traded.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * @description Side of the order.
             * @enum {string}
             */
            side: "buy" | "sell";
            /**
             * @description Ladder that was used.
             * @enum {string}
             */
            view: "own" | "consolidated";
            /**
             * Format: date-time
             * @description The moment asked for.
             */
            ts: string;
            /**
             * Format: date-time
             * @description The venue's time of the newest state used.
             */
            timestamp: string;
            /** @description Milliseconds from `timestamp` to `ts`. */
            ageMs: number;
            sources: components["schemas"]["LadderSources"];
            /** @description What was asked for, in its unit. */
            asked: {
                /** @description Shares asked for. */
                size?: number;
                /** @description USDC asked for. */
                usdc?: number;
            };
            /** @description Shares filled, exact. */
            filled: number;
            /** @description Traded value in USDC before fees, rounded to six decimals. */
            notional: number;
            /** @description Fee in USDC, rounded to six decimals. */
            fee: number;
            /** @description What a buy pays or a sell receives in all, in USDC: its exact value rounded to six decimals. */
            total: number;
            /** @description Notional over shares, rounded to nine decimals; null when nothing was filled. */
            averagePrice: number | null;
            /** @description Best price of the side; null when it is empty. */
            bestPrice: number | null;
            /** @description Price of the last level used; null when nothing was filled. */
            worstPrice: number | null;
            /** @description By how much the average is worse than the best price, rounded to nine decimals; null when nothing was filled. */
            slippage: number | null;
            /** @description Number of `levels`. */
            levelsUsed: number;
            /** @description What the book, or `limitPrice`, left of what was asked, in its unit; 0 when it was enough. */
            unfilled: number;
            /** @description Levels used, best first. */
            levels: components["schemas"]["FillLevel"][];
        };
        /** @description Without `fields` every member is there, but not `receivedAt`, and `time` and `ageMs` only with `interval`; with `fields` those that it names. */
        Quote: {
            /**
             * Format: date-time
             * @description The step; only with `interval`.
             */
            time?: string;
            /** @description Milliseconds from `timestamp` to `time`; only with `interval`. */
            ageMs?: number;
            /** @description Identifier of the snapshot that this is the top of. */
            id?: string;
            /**
             * @description Outcome whose book this is.
             * @enum {string}
             */
            outcome?: "up" | "down";
            /**
             * Format: date-time
             * @description The venue's time of the state, UTC, milliseconds.
             */
            timestamp?: string;
            /** @description Best bid in USDC per share, exact; null when the side is empty. */
            bid?: number | null;
            /** @description Shares at the best bid, exact; null when the side is empty. */
            bidSize?: number | null;
            /** @description Best ask in USDC per share, exact; null when the side is empty. */
            ask?: number | null;
            /** @description Shares at the best ask, exact; null when the side is empty. */
            askSize?: number | null;
            /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
            mid?: number | null;
            /** @description Ask minus bid, exact; negative when the book is crossed, null when a side is empty. */
            spread?: number | null;
            /** @description (bidSize − askSize) / (bidSize + askSize), from -1 to 1, rounded half away from zero to six decimals; null when a side is empty. */
            imbalance?: number | null;
            /**
             * Format: date-time
             * @description Only where `fields` names it: when the recorder received the state, by the recorder's clock; null where that is not known.
             */
            receivedAt?: string | null;
        };
        OpenMarket: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
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
             * @description Start of the window; null where unknown.
             */
            windowStart: string | null;
            /**
             * Format: date-time
             * @description End of the window; null where unknown.
             */
            windowEnd: string | null;
            /** @description Last state of "up"; null when none is recorded. */
            up: {
                /** @description Best bid in USDC per share, exact; null when the side is empty. */
                bid: number | null;
                /** @description Best ask in USDC per share, exact; null when the side is empty. */
                ask: number | null;
                /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
                mid: number | null;
                /**
                 * Format: date-time
                 * @description The venue's time of the last state, UTC. Its age is left out, so that what did not change is a 304.
                 */
                timestamp: string;
            } | null;
            /** @description Last state of "down"; null when none is recorded. */
            down: {
                /** @description Best bid in USDC per share, exact; null when the side is empty. */
                bid: number | null;
                /** @description Best ask in USDC per share, exact; null when the side is empty. */
                ask: number | null;
                /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
                mid: number | null;
                /**
                 * Format: date-time
                 * @description The venue's time of the last state, UTC. Its age is left out, so that what did not change is a 304.
                 */
                timestamp: string;
            } | null;
            /** @description Last trade of either outcome; null when none is held. */
            lastTrade: {
                /** @description As the venue printed it, exact. */
                price: number;
                /**
                 * @description Outcome that was traded; null where the venue does not say.
                 * @enum {string|null}
                 */
                outcome: "up" | "down" | null;
                /**
                 * Format: date-time
                 * @description The venue's time of the trade.
                 */
                timestamp: string;
            } | null;
        };
        /** @description A state at which the mid or the last trade changed; without `interval`. */
        Price: {
            /** @description Identifier of the snapshot. */
            id: string;
            /**
             * @description Outcome that this is the price of.
             * @enum {string}
             */
            outcome: "up" | "down";
            /**
             * Format: date-time
             * @description The venue's time of the state, UTC.
             */
            timestamp: string;
            /** @description Best bid in USDC per share, exact; null when the side is empty. */
            bid: number | null;
            /** @description Best ask in USDC per share, exact; null when the side is empty. */
            ask: number | null;
            /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
            mid: number | null;
            /** @description Price of the last trade at or before `timestamp`, in terms of `outcome`: if the other outcome was traded, 1 minus its price; if `lastTradeOutcome` is null, the price as printed, which may be of either. Null before the first. */
            lastTrade: number | null;
            /**
             * Format: date-time
             * @description Time of that trade.
             */
            lastTradeTime: string | null;
            /**
             * @description Outcome that was traded; null where the source does not say, and before the first trade.
             * @enum {string|null}
             */
            lastTradeOutcome: "up" | "down" | null;
        };
        /** @description What happened in a step; with `interval`. */
        Bar: {
            /**
             * @description Outcome that this is the price of.
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
            /** @description First mid, over the states with both sides; null when there is none. */
            open: number | null;
            /** @description Highest mid, over the states with both sides; null when there is none. */
            high: number | null;
            /** @description Lowest mid, over the states with both sides; null when there is none. */
            low: number | null;
            /** @description Last mid, over the states with both sides; null when there is none. */
            close: number | null;
            /** @description Price of the last trade before the end of the bar, which may be older than the bar, in terms of `outcome`: if the other outcome was traded, 1 minus its price; if `lastTradeOutcome` is null, the price as printed, which may be of either. Null before the first. */
            lastTrade: number | null;
            /**
             * Format: date-time
             * @description Time of that trade.
             */
            lastTradeTime: string | null;
            /**
             * @description Outcome that was traded; null where the source does not say, and before the first trade.
             * @enum {string|null}
             */
            lastTradeOutcome: "up" | "down" | null;
            /** @description Updates of the last trade price in the bar, of either outcome: each time and price once. Not a count of trades: two trades at one price in one millisecond are one update, and a source may omit trades that do not change the price. Both outcomes' bars of a step have the same. */
            lastTradeUpdates: number;
            /** @description States of this outcome in the bar, with one side or none too. */
            states: number;
            /** @description Share of the step that lies in the range and is recorded, rounded down to six decimals: below 1 the bar may lack states. */
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
             * @description Start of the window; null where unknown.
             */
            windowStart: string | null;
            /**
             * Format: date-time
             * @description End of the window; null where unknown.
             */
            windowEnd: string | null;
            /**
             * @description What the price at the end of the window is, as in GET /v1/{coin}/markets.
             * @enum {string|null}
             */
            settlementRule: "twap60" | "twap30" | "spot" | "binance-1h" | "binance-1d" | null;
            /** @description Price of the coin that the end is compared with; null until known. */
            strike: number | null;
            /** @description The newest price of the coin; null where none is recorded. */
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
            /** @description The average that the window settles on, so far: the newest that its source publishes, or without one that of the prices of the source, in the last seconds of the window since the settlement began, before that of as many seconds up to now. Null for a window that does not settle on an average, and where that source has no prices; those of other sources never take their place. */
            average: {
                /** @description In USD. */
                price: number;
                /**
                 * Format: date-time
                 * @description Start of the time that it is the average of, inclusive.
                 */
                from: string;
                /**
                 * Format: date-time
                 * @description End of that time, exclusive.
                 */
                to: string;
                /** @description Who publishes the average or its prices: a source that windows settle on. */
                source: string;
                /** @description True in the last seconds of the window, which it settles on. The average that is published for the end of the window decides; one that is published before reaches back to `from`. */
                isSettlement: boolean;
            } | null;
            /** @description The average that the prices of the seconds that are left must have at least for Up to win, from those since the settlement began. Null before these last seconds, for a window that does not settle on an average, and where prices or the strike are missing. */
            needed: {
                /** @description In USD, rounded up to the digits of the prices. */
                price: number;
                /**
                 * Format: date-time
                 * @description Start of the seconds that are left, inclusive.
                 */
                from: string;
            } | null;
            /**
             * @description The outcome whose book the following members are made of, in terms of up. `down` where no book of up is recorded: it is mirrored (who sells down at 0.4 buys up at 0.6). Null without a book.
             * @enum {string|null}
             */
            bookOf: "up" | "down" | null;
            /**
             * Format: date-time
             * @description The venue's time of the book, UTC.
             */
            timestamp: string | null;
            /** @description Best bid in USDC per share, exact; null when the side is empty. */
            bid: number | null;
            /** @description Best ask in USDC per share, exact; null when the side is empty. */
            ask: number | null;
            /** @description Half of bid plus ask, exact: up to seven decimals; null when a side is empty. */
            mid: number | null;
            /** @description Best ask minus best bid; null when a side is empty. */
            spread: number | null;
            /** @description Shares of bids at most 0.02 below `mid`; null without a mid. */
            bidDepth: number | null;
            /** @description Shares of asks at most 0.02 above `mid`; null without a mid. */
            askDepth: number | null;
            /** @description Shares traded so far, of either outcome, also before the window began; null where no trade with its size is recorded. */
            volume: number | null;
            /** @description Trades so far; null where the window is damaged. */
            trades: number | null;
            /** @description What is recorded of the window. */
            recording: {
                /**
                 * @description `recorded` up to now, in a `gap` now, `none`: no book has been recorded, or `damaged`: what is stored of the window, or of the prices of its coin, is not what was written. Other windows are as before.
                 * @enum {string}
                 */
                state: "recorded" | "gap" | "none" | "damaged";
                /**
                 * @description Why there is a gap now; null without one.
                 * @enum {string|null}
                 */
                reason: "recorder_down" | "venue_silent" | "venue_restart" | "hash_mismatch" | "not_open" | "import" | null;
                /**
                 * Format: date-time
                 * @description Start of the gap; null without one.
                 */
                since: string | null;
                /** @description Share of the window so far, of both outcomes, that is recorded, rounded down to thousandths; null while the window is not known, and where it is damaged. */
                covered: number | null;
            };
            /** @description How it came to this: 60 points for the whole window, up to now. */
            history: {
                /**
                 * Format: date-time
                 * @description Time of the first point: the start of the window.
                 */
                from: string;
                /** @description Milliseconds between two points. */
                stepMs: number;
                mid: (number | null)[];
                spot: (number | null)[];
                average: (number | null)[];
            } | null;
        };
        /** @description A trade, as the venue announced it. */
        Trade: {
            /**
             * Format: date-time
             * @description The venue's time of the trade, UTC.
             */
            timestamp: string;
            /**
             * @description Outcome that was traded; null where the source does not say.
             * @enum {string|null}
             */
            outcome: "up" | "down" | null;
            /** @description In USDC per share, as the venue printed it, exact. */
            price: number;
            /** @description Shares, exact; null where the source does not say. */
            size: number | null;
            /**
             * @description Side of the taker; null where the source does not say.
             * @enum {string|null}
             */
            side: "buy" | "sell" | null;
            /** @description Hash of the transaction on the chain that settled it; null where the source does not say. */
            transactionHash: string | null;
        };
        PanelRow: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /** @description The venue's name of the market. */
            slug: string | null;
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
             * Format: date-time
             * @description Start of the window, inclusive.
             */
            windowStart: string;
            /**
             * Format: date-time
             * @description End of the window: the expiry.
             */
            windowEnd: string;
            /** @description The coin's price that the end is compared with, in USD. */
            strike: number | null;
            /** @description The coin's price at the end. Not known at `ts`. */
            finalPrice: number | null;
            /**
             * @description Outcome that won, null until known and of a void market. Not known at `ts`.
             * @enum {string|null}
             */
            winner: "up" | "down" | null;
            /**
             * @description Who named the winner.
             * @enum {string|null}
             */
            winnerSource: "venue" | "dataset" | "simulated" | null;
            /** @description As it was asked for. */
            offset: string;
            /** @description The same in milliseconds. */
            offsetMs: number;
            /**
             * Format: date-time
             * @description The moment of this row: `windowEnd` less the offset.
             */
            ts: string;
            /** @description Last trade at or before `ts`; null when none is held. Absent for a tier without `prices`. */
            lastTrade?: {
                /** @description As the venue printed it, exact. */
                price: number;
                /**
                 * @description Outcome that was traded; null where the source does not say.
                 * @enum {string|null}
                 */
                outcome: "up" | "down" | null;
                /**
                 * Format: date-time
                 * @description The venue's time of the trade.
                 */
                timestamp: string;
            } | null;
            /** @description Price of the coin itself prevailing at `ts`, never later, of the shortest average where there are several; null when none is recorded by then, or none that `maxAgeMs` allows. Absent for a tier without `prices`. */
            spot?: {
                /** @description In USD, with every digit of its source. */
                price: number;
                /** @description Who publishes it. */
                source: string;
                /** @description Seconds that it is an average of; 0 for the price of the moment. */
                windowSeconds: number;
                /** @description Milliseconds from the source's time to `ts`. */
                ageMs: number;
            } | null;
            /** @description Whether `ts` lies in a recorded interval; false in a gap, where the prevailing state may have been another. At the very expiry it is asked of the millisecond before. */
            covered: {
                /** @description Of the outcome up. */
                up: boolean;
                /** @description Of the outcome down. */
                down: boolean;
            };
            /** @description State of "up" prevailing at `ts`, at or before it and never after; null when none is recorded by then, or none that `maxAgeMs` allows. */
            up: {
                /**
                 * Format: date-time
                 * @description The venue's time of the prevailing state.
                 */
                timestamp: string;
                /** @description Milliseconds from `timestamp` to `ts`. */
                ageMs: number;
                /** @description Best bid, exact; null when the side is empty. */
                bid: number | null;
                /** @description Shares at the best bid. */
                bidSize: number | null;
                /** @description Best ask, exact; null when the side is empty. */
                ask: number | null;
                /** @description Shares at the best ask. */
                askSize: number | null;
                /** @description Half of bid plus ask, exact; null when a side is empty. */
                mid: number | null;
                /** @description Ask minus bid; negative when the book is crossed. */
                spread: number | null;
                /** @description (bidSize − askSize) / (bidSize + askSize), rounded to six decimals; null when a side is empty. */
                imbalance: number | null;
                /** @description What rests on the bid side. */
                bids: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Shares on all levels, exact. */
                    size: number;
                    /** @description Sum of price times size over all levels, rounded to six decimals. */
                    usdc: number;
                };
                /** @description What rests on the ask side. */
                asks: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Shares on all levels, exact. */
                    size: number;
                    /** @description Sum of price times size over all levels, rounded to six decimals. */
                    usdc: number;
                };
            } | null;
            /** @description State of "down" prevailing at `ts`, at or before it and never after; null when none is recorded by then, or none that `maxAgeMs` allows. */
            down: {
                /**
                 * Format: date-time
                 * @description The venue's time of the prevailing state.
                 */
                timestamp: string;
                /** @description Milliseconds from `timestamp` to `ts`. */
                ageMs: number;
                /** @description Best bid, exact; null when the side is empty. */
                bid: number | null;
                /** @description Shares at the best bid. */
                bidSize: number | null;
                /** @description Best ask, exact; null when the side is empty. */
                ask: number | null;
                /** @description Shares at the best ask. */
                askSize: number | null;
                /** @description Half of bid plus ask, exact; null when a side is empty. */
                mid: number | null;
                /** @description Ask minus bid; negative when the book is crossed. */
                spread: number | null;
                /** @description (bidSize − askSize) / (bidSize + askSize), rounded to six decimals; null when a side is empty. */
                imbalance: number | null;
                /** @description What rests on the bid side. */
                bids: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Shares on all levels, exact. */
                    size: number;
                    /** @description Sum of price times size over all levels, rounded to six decimals. */
                    usdc: number;
                };
                /** @description What rests on the ask side. */
                asks: {
                    /** @description Number of levels. */
                    levels: number;
                    /** @description Shares on all levels, exact. */
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
             * @description How a cell was made.
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
            /** @description Width of a bin of price. */
            priceStep: number;
            /** @description Between which trades of the market the server knows what was traded; null if it holds none. Only with `include=removed` and for a tier with `prices`. */
            trades?: {
                /**
                 * Format: date-time
                 * @description The first one.
                 */
                from: string;
                /**
                 * Format: date-time
                 * @description The last one.
                 */
                to: string;
            } | null;
            /** @description In order of time. */
            columns: ({
                /** @description Share of the column in which the book is known, rounded down. */
                covered: number;
                /** @description Best bid at the end of what is known of the column. */
                bid: number | null;
                /** @description Best ask then. */
                ask: number | null;
                /** @description Sizes of the bids; outside of the list there are none. */
                bids: {
                    /** @description The first bin of `sizes`; bin k is the prices from k·priceStep on. */
                    from: number;
                    sizes: number[];
                };
                /** @description Sizes of the asks. */
                asks: {
                    /** @description The first bin of `sizes`; bin k is the prices from k·priceStep on. */
                    from: number;
                    sizes: number[];
                };
                /** @description Shares by which a cell fell since the end of the column before, beyond what was traded: orders that were withdrawn. Only with `include=removed` and for a tier with `prices`. Null in the first column, where the book is not known from the end of the column before to the end of this one, outside of `trades`, and where the source of a trade does not say its outcome, side or size. */
                pulled?: {
                    /** @description Of the bids. */
                    bids: {
                        /** @description The first bin of `sizes`; bin k is the prices from k·priceStep on. */
                        from: number;
                        sizes: number[];
                    };
                    /** @description Of the asks. */
                    asks: {
                        /** @description The first bin of `sizes`; bin k is the prices from k·priceStep on. */
                        from: number;
                        sizes: number[];
                    };
                } | null;
                /** @description Shares of that fall that trades of the column took, at prices of the cell and from its side; a trade of the other outcome at p counts at 1 − p. Only with `include=removed` and for a tier with `prices`. Null in the first column, where the book is not known from the end of the column before to the end of this one, outside of `trades`, and where the source of a trade does not say its outcome, side or size. */
                traded?: {
                    /** @description Of the bids. */
                    bids: {
                        /** @description The first bin of `sizes`; bin k is the prices from k·priceStep on. */
                        from: number;
                        sizes: number[];
                    };
                    /** @description Of the asks. */
                    asks: {
                        /** @description The first bin of `sizes`; bin k is the prices from k·priceStep on. */
                        from: number;
                        sizes: number[];
                    };
                } | null;
            } | null)[];
        };
        /** @description A price of the coin; without `interval`. */
        Spot: {
            /** @description Identifier of the price. */
            id: string;
            /** @description Who publishes the price, as the feed names it. */
            source: string;
            /** @description Seconds that it is an average of (TWAP); 0 for a price of the moment. */
            windowSeconds: number;
            /**
             * Format: date-time
             * @description The source's time, UTC.
             */
            timestamp: string;
            /** @description In USD, with every digit of its source. */
            price: number;
            /**
             * Format: date-time
             * @description When the recorder received it; null for what came as history when the recorder connected.
             */
            receivedAt: string | null;
            /** @description Its number in its feed; null where that has none. */
            sequence: number | null;
            /** @description Prices right before it that were missed, as far as the feed shows it, and did not come later. */
            dropped: number;
        };
        /** @description The prices of a step, of one source and window; with `interval`. */
        SpotBar: {
            /** @description Who publishes the price, as the feed names it. */
            source: string;
            /** @description Seconds that it is an average of (TWAP); 0 for a price of the moment. */
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
            /** @description Prices in the bar. */
            ticks: number;
        };
        DayFile: {
            /** @description `name` of a file in GET /v1/{coin}/files. */
            name: string;
            /** @description Where the file is, on this server. */
            url: string;
            /**
             * @description Length of the markets' windows.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * Format: date
             * @description Day in UTC on which the windows begin.
             */
            day: string;
            /**
             * @description `snapshots`: a row a state with 25 levels of each side. `levels`: a row a level of each state. `quotes`: a row a change of the best levels. `trades`. `panel`: a row a market and moment before its expiry.
             * @enum {string}
             */
            kind: "snapshots" | "levels" | "quotes" | "trades" | "panel";
            /**
             * @description Prices and sizes as DECIMAL, exact, or as DOUBLE, which every program reads.
             * @enum {string}
             */
            numbers: "decimal" | "double";
            /** @description 1 at first; more where something of the day became known later. */
            revision: number;
            /** @description False once there is another revision. */
            isLatest: boolean;
            /** @description Markets in it. */
            markets: number;
            /** @description Rows in it. */
            rows: number;
            /** @description Length of the file. */
            bytes: number;
            /** @description SHA-256 of the file, in hex. */
            sha256: string;
            /**
             * Format: date-time
             * @description When it was made.
             */
            madeAt: string;
        };
        /** @description A change of a market after it could be served. */
        Revision: {
            /** @description Digits that rise with every change. */
            id: string;
            /**
             * Format: date-time
             * @description When it was made, by our clock, UTC.
             */
            time: string;
            /**
             * @description `late_rows`: the recorder added snapshots before the last one, or after the market was closed. `imported`: an import did. `late_trades`: trades came after the market was closed. `fact_changed`: a fact became known, or was corrected. `gap_noted`, `gap_closed`: a time without snapshots was noted, or it is shorter or gone. `deleted`: the market is no longer held.
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
             * @description Length of the market's window.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /**
             * Format: date-time
             * @description Start of its window; its first snapshot where that is not known.
             */
            windowStart: string;
            /** @description `revision` of the market after the change. */
            revision: number;
            /** @description Snapshots or trades that were added, with new ids. */
            added: number;
            /** @description Snapshots that kept their id and their book, of which something else is better known, such as the time of receipt. */
            changed: number;
            /** @description Snapshots that are gone: a better one replaced them, they have a new id, or the market was deleted. */
            removed: number;
            /**
             * Format: date-time
             * @description First time that is concerned, inclusive.
             */
            from: string | null;
            /**
             * Format: date-time
             * @description Last time that is concerned, exclusive.
             */
            to: string | null;
            /** @description Facts that changed; empty of other changes. */
            facts: {
                /** @description Name of the fact, as of a market. */
                fact: string;
                /** @description What was known before; null where nothing was. */
                before: string | null;
                /** @description What is known since. */
                after: string | null;
            }[];
        };
        ManifestRow: {
            /** @description Place in the chain, from 1 on, none left out. */
            sequence: number;
            /** @description UTC day in which the windows of its markets begin. */
            day: string;
            /** @description Of the day, from 1 on. */
            revision: number;
            /** @description SHA-256 in hex of the canonical JSON of `manifest`. */
            digest: string;
            /** @description `digest` of the manifest before; null of the first. */
            previous: string | null;
            /** @description Ed25519, in base64, of the text `bookfeed-manifest-1 SEQUENCE DAY REVISION DIGEST PREVIOUS`, where PREVIOUS is `-` if there is none. */
            signature: string;
            /** @description The key that signed it: 32 bytes in base64. `/.well-known/bookfeed.json` has the one of today. */
            publicKey: string;
            /**
             * Format: date-time
             * @description When the markets were read, UTC.
             */
            madeAt: string;
        };
        MarketDigest: {
            /** @description Market identifier: `0x` and lower-case hex digits. */
            conditionId: string;
            /** @description The venue's name of the market. */
            slug: string | null;
            /**
             * @description As of the market.
             * @enum {string}
             */
            source: "recorded" | "simulated";
            /** @description `revision` of the market when it was read. */
            revision: number;
            /** @description Snapshots that were digested. */
            snapshots: number;
            /** @description SHA-256 in hex of every object of `…/snapshots` in its order, each followed by a newline; of a recorded market that is `…/export`. */
            snapshotsSha256: string;
            /** @description Trades that were digested. */
            trades: number;
            /** @description SHA-256 in hex of every object of `…/trades`, likewise, without a `transactionHash` that is null. */
            tradesSha256: string;
            /** @description SHA-256 in hex of the JSON array, without white space, of conditionId, symbol, timeframe, source, slug, windowStart, windowEnd, strike, finalPrice and winner as texts (numbers with the digits that are printed) or null. */
            factsSha256: string;
        };
        SeriesDigest: {
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            coin: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the markets' windows.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /** @description Rises when the digest changes; a citation names it. */
            revision: number;
            /** @description SHA-256 in hex of a line for each market: conditionId, snapshotsSha256, tradesSha256 and factsSha256, joined by spaces, with a newline after each. */
            sha256: string;
            /** @description By conditionId. */
            markets: components["schemas"]["MarketDigest"][];
        };
        Manifest: {
            /** @description Place in the chain, from 1 on, none left out. */
            sequence: number;
            /** @description UTC day in which the windows of its markets begin. */
            day: string;
            /** @description Of the day, from 1 on. */
            revision: number;
            /** @description SHA-256 in hex of the canonical JSON of `manifest`. */
            digest: string;
            /** @description `digest` of the manifest before; null of the first. */
            previous: string | null;
            /** @description Ed25519, in base64, of the text `bookfeed-manifest-1 SEQUENCE DAY REVISION DIGEST PREVIOUS`, where PREVIOUS is `-` if there is none. */
            signature: string;
            /** @description The key that signed it: 32 bytes in base64. `/.well-known/bookfeed.json` has the one of today. */
            publicKey: string;
            /** @description What is signed, in its canonical form (RFC 8785): members by name, no spaces. */
            manifest: {
                /** @description Names these rules. */
                kind: string;
                /** @description Place in the chain, from 1 on, none left out. */
                sequence: number;
                /** @description UTC day in which the windows of its markets begin. */
                day: string;
                /** @description Of the day, from 1 on. */
                revision: number;
                /**
                 * Format: date-time
                 * @description When the markets were read, UTC.
                 */
                madeAt: string;
                /** @description `digest` of the manifest before; null of the first. */
                previous: string | null;
                /** @description By coin and timeframe. */
                series: components["schemas"]["SeriesDigest"][];
                /** @description Immutable files of the day. */
                files: {
                    /** @description Where it is served. */
                    path: string;
                    /** @description Its size. */
                    bytes: number;
                    /** @description SHA-256 in hex of its bytes. */
                    sha256: string;
                }[];
            };
        };
        Citation: {
            /** @description In full, with its revision. */
            citation: string;
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the markets' windows.
             * @enum {string}
             */
            timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
            /** @description UTC day in which the windows of its markets begin. */
            day: string;
            /** @description The one that was asked for. */
            revision: number;
            /** @description Another one means that something changed since. */
            newestRevision: number;
            /** @description Whether the markets that are held now are as cited. False for an older revision, and for the newest one after a late row or an import, until the next manifest of the day is signed. */
            isCurrent: boolean;
            /** @description SHA-256 in hex of what is cited, as of a series in a manifest. */
            sha256: string;
            /** @description Markets of it. */
            markets: number;
            /** @description Snapshots of these. */
            snapshots: number;
            /**
             * Format: date-time
             * @description When it was as cited: the markets were read then.
             */
            asOf: string;
            /** @description Manifest that has it first. */
            sequence: number;
            /** @description Where that is. */
            manifest: string;
            /** @description Where the markets are listed. */
            data: string;
        };
        WellKnown: {
            /** @description What this is. */
            service: string;
            /** @description Of signatures. */
            algorithm: string;
            /** @description The key that signed it: 32 bytes in base64. `/.well-known/bookfeed.json` has the one of today. */
            publicKey: string;
            /** @description The same as OpenSSL reads it. */
            publicKeyPem: string;
            /** @description Head of the chain: keep it to see later that nothing before it changed. */
            newest: {
                /** @description Place in the chain, from 1 on, none left out. */
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
            /** @description Standard deviation of the price of the coin over the time that is left: the square root of the mean of ln(price at the end ÷ price now)². Six digits. */
            deviation: number;
            /** @description Windows, by distance: below the first edge, between two edges, from the last one on. */
            windows: number[];
            /** @description Those of them that Up won, by distance: below the first edge, between two edges, from the last one on. */
            ups: number[];
        };
        CalibrationTable: {
            /**
             * @description Coin in lower case.
             * @enum {string}
             */
            symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
            /**
             * @description Length of the windows.
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
             * @description When the table was made.
             */
            madeAt: string;
            /**
             * Format: date-time
             * @description Start of the oldest window that is counted.
             */
            from: string;
            /**
             * Format: date-time
             * @description Start of the newest one.
             */
            to: string;
            /** @description Windows that are counted at one moment at least. */
            markets: number;
            /** @description Distances between which windows are counted together: ln(price ÷ strike) ÷ `deviation`. A distance at an edge belongs above it. */
            edges: number[];
            /** @description The earliest moment first. */
            moments: components["schemas"]["CalibrationMoment"][];
        };
        Export: {
            /** @description The `X-Export-Id` of the answer. */
            exportId: string;
            /** @description Name of the file, without its ending. */
            name: string;
            /**
             * @description `complete` means that everything was sent.
             * @enum {string}
             */
            state: "running" | "complete" | "broken_off";
            /**
             * @description Format of the file.
             * @enum {string}
             */
            format: "ndjson" | "csv" | "parquet";
            /**
             * @description Encoding in which the bytes were sent; `bytes` and `sha256` count the encoded bytes.
             * @enum {string|null}
             */
            contentEncoding: "gzip" | null;
            /** @description Snapshots sent. */
            snapshots: number;
            /** @description Bytes sent, as encoded. */
            bytes: number;
            /** @description SHA-256 of the bytes sent, in hex; null until the export is complete. */
            sha256: string | null;
            /**
             * Format: date-time
             * @description Start of the answer.
             */
            startedAt: string;
            /**
             * Format: date-time
             * @description End of the answer; null while it runs.
             */
            endedAt: string | null;
        };
        TestKey: {
            /** @description A test key. It reads simulated data alone, and is not a secret. */
            key: string;
        };
        Challenge: {
            /** @description Sign-In-with-Ethereum message (EIP-4361). Have the wallet sign it exactly as it is. */
            message: string;
            /** @description The nonce in the message. */
            nonce: string;
            /**
             * Format: date-time
             * @description Exclusive; after that the message is refused.
             */
            expiresAt: string;
        };
        NewKey: {
            /** @description The API key. It is shown this once: keep it where secrets are kept. */
            key: string;
            /** @description Name of the key; not a secret. */
            id: string;
            /** @description Your own name for the key; null without one. */
            label: string | null;
            /** @description The last characters of the key. */
            hint: string;
            /** @description Id of the tier that the account has. */
            tier: string;
            /**
             * Format: date-time
             * @description When the key was made.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Null: a new key has no end.
             */
            expiresAt: string | null;
            /** @description Wallet of the account in lower case; null for one that the operator made. */
            address: string | null;
        };
        Key: {
            /** @description Name of the key; not a secret. */
            id: string;
            /** @description Your own name for the key; null without one. */
            label: string | null;
            /** @description The last characters of the key. */
            hint: string;
            /**
             * @description `expiring` once the key was replaced by another.
             * @enum {string}
             */
            status: "active" | "expiring";
            /** @description True for the key that asks. */
            isCurrent: boolean;
            /**
             * Format: date-time
             * @description When the key was made.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When the key ends, exclusive; null if it has no end.
             */
            expiresAt: string | null;
            /**
             * Format: date-time
             * @description When the key was last used, give or take seconds; null if never.
             */
            lastUsedAt: string | null;
        };
        RotatedKey: {
            /** @description The API key. It is shown this once: keep it where secrets are kept. */
            key: string;
            /** @description Name of the key; not a secret. */
            id: string;
            /** @description Your own name for the key; null without one. */
            label: string | null;
            /** @description The last characters of the key. */
            hint: string;
            /** @description Id of the tier that the account has. */
            tier: string;
            /**
             * Format: date-time
             * @description When the key was made.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description Null: a new key has no end.
             */
            expiresAt: string | null;
            /** @description Wallet of the account in lower case; null for one that the operator made. */
            address: string | null;
            /** @description The key that this one replaces. */
            replaces: {
                /** @description Name of the key; not a secret. */
                id: string;
                /**
                 * Format: date-time
                 * @description When the old key ends, exclusive.
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
            /** @description The same by route, in the order of their names. */
            routes: {
                /** @description What was asked for. */
                route: string;
                /** @description Requests answered. */
                requests: number;
                /** @description Bytes of the answers, as sent, without headers. */
                bytes: number;
            }[];
        };
        Usage: {
            /** @description What holds for you now. */
            tier: {
                /** @description Name of the tier in requests. */
                id: string;
                /** @description Name of the tier for people. */
                name: string;
                requestsPerMinute: number;
                coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
                routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            };
            /** @description The subscription that gives the tier; null on the Free tier. */
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
            /** @description Allowances of this key, those that replaced it included. */
            windows: {
                data: {
                    /** @description Requests a minute. */
                    limit: number;
                    /** @description Requests left. */
                    remaining: number;
                    /**
                     * Format: date-time
                     * @description When the window ends and the next may begin.
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
                     * @description When the window ends and the next may begin.
                     */
                    resetsAt: string;
                };
            };
            /** @description Packs with requests left, oldest first; absent without any. */
            packs?: {
                /** @description The payment that bought it. */
                paymentId: string;
                /** @description Name for people. */
                name: string;
                /** @description Requests bought. */
                requests: number;
                /** @description Of these, answered. */
                used: number;
            }[];
            /** @description Days with a request by any key of the account, newest first, 90 days back. */
            days: components["schemas"]["UsageDay"][];
        };
        Sample: {
            /** @description Coins whose routes below may be read. */
            coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
            /** @description As tiers name them. */
            routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            /** @description Requests a minute of one address. */
            requestsPerMinute: number;
            /** @description The market that shows most: over, recorded where a recorded one is mostly covered, else simulated. Every route of it may be read. Null where there is none. */
            market: {
                /**
                 * @description Its coin.
                 * @enum {string}
                 */
                symbol: "btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec";
                /** @description What names it in paths. */
                conditionId: string;
                /** @description The venue's name of the market. */
                slug: string | null;
            } | null;
            /** @description Every route of markets with these sources may be read, of any coin, also while they are open. `simulated` markets are invented by the server. */
            sources: ("recorded" | "simulated")[];
        };
        Tier: {
            /** @description Identifier of the tier. */
            id: string;
            /** @description The same, under the name by which a tier is bought. */
            tierId: string;
            /** @description Name of the tier for people. */
            name: string;
            /** @description Coins that the tier includes. */
            coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
            /** @description Kinds of data that the tier includes. */
            routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            /** @description Requests a minute for each API key. */
            requestsPerMinute: number;
            /** @description Exports at a time for each account. */
            concurrentStreams: number;
            /** @description Price of a period in USDC, as a decimal; null where it is agreed upon. */
            priceUsdc: string | null;
            /** @description Days that a payment buys; null where nothing is bought. */
            periodDays: number | null;
            /** @description True if the tier can be bought here. */
            isForSale: boolean;
            /** @description Where to ask for a tier that is not for sale; else null. */
            contact: string | null;
            /**
             * Format: date-time
             * @description Since when purchases of a tier for sale are paused, because payments cannot be settled; null while they are not.
             */
            pausedSince: string | null;
        };
        Chain: {
            /** @description CAIP-2 identifier of the chain. */
            network: string;
            /** @description Name for people. */
            name: string;
            chainId: number;
            explorer: string;
            /** @description Tag of the block from which on a payment counts. */
            finality: string;
            tokens: {
                /**
                 * @description Symbol of the token.
                 * @enum {string}
                 */
                symbol: "USDC" | "USDT";
                /** @description What the token calls itself. */
                name: string;
                /** @description Contract of the token, checksummed. */
                address: string;
                decimals: number;
                /**
                 * @description How a signed payment moves the token: by itself (EIP-3009), or by Permit2, which must be approved once.
                 * @enum {string}
                 */
                transferMethod: "eip3009" | "permit2";
                /** @description Domain that a payer signs in; null where it is that of Permit2. */
                eip712Domain: {
                    name: string;
                    version: string;
                } | null;
                /** @description True if it can be paid with right now. */
                enabled: boolean;
                /** @description Why it cannot be paid with; null if it can. */
                reason: string | null;
            }[];
        };
        PaymentQuote: {
            /** @description `quoteId` of POST /v1/billing/x402/quote. */
            quoteId: string;
            /**
             * Format: date-time
             * @description Exclusive; sign and settle before.
             */
            expiresAt: string;
            paymentRequirements: components["schemas"]["PaymentRequirements"];
            paymentRequired: components["schemas"]["PaymentRequired"];
            /** @description The account's wallet, lower case, where only it can pay this offer; null where any wallet can, because the amount is unique. */
            payer: string | null;
            /** @description What is bought. */
            tier: {
                /** @description Identifier of the tier. */
                tierId: string;
                /** @description Name of the tier for people. */
                name: string;
                /** @description Days that are bought. */
                periodDays: number;
            };
            /**
             * Format: date-time
             * @description When the period would begin if it were paid now: at once, or after what you have of the same or a higher tier.
             */
            startsAt: string;
            chain: {
                /** @description CAIP-2 identifier of the chain. */
                network: string;
                /** @description Name for people. */
                name: string;
                chainId: number;
                explorer: string;
                /** @description Tag of the block from which on a payment counts. */
                finality: string;
            };
            token: {
                /**
                 * @description Symbol of the token.
                 * @enum {string}
                 */
                symbol: "USDC" | "USDT";
                /** @description What the token calls itself. */
                name: string;
                /** @description Contract of the token, checksummed. */
                address: string;
                decimals: number;
                /**
                 * @description How a signed payment moves the token: by itself (EIP-3009), or by Permit2, which must be approved once.
                 * @enum {string}
                 */
                transferMethod: "eip3009" | "permit2";
                /** @description Domain that a payer signs in; null where it is that of Permit2. */
                eip712Domain: {
                    name: string;
                    version: string;
                } | null;
            };
            /** @description A payment of your account that may still be made, or was made within the last hour for the same tier and token; absent if there is none, and with `anotherPeriod`. Sign nothing: ask `pollUrl` until the payment is decided. */
            paymentInFlight?: {
                /** @description Name of the payment. */
                paymentId: string;
                /**
                 * @description Step that the payment has reached.
                 * @enum {string}
                 */
                paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
                /** @description Address to ask again, relative to the server; the same as the header Location. */
                pollUrl: string;
            };
        };
        SubscriptionPeriod: {
            /** @description Name of the period. */
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
            /** @description What paid for it; null for what the operator granted. */
            paymentId: string | null;
        };
        /** @description Where the chain says that money arrived. */
        PaymentProof: {
            /** @description Name of the payment. */
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
            /** @description What was paid, in atomic units of the token. */
            amount: string;
            /** @description The same as a decimal, in units of the token. */
            amountUsd: string;
            /** @description Address that paid, in lower case. */
            payer: string;
            /** @description A page for people about the transaction. */
            explorerUrl: string;
        };
        PaidSettlement: {
            /**
             * @description Paid, and what was bought is yours.
             * @enum {string}
             */
            status: "active";
            subscription: components["schemas"]["SubscriptionPeriod"];
            settlement: components["schemas"]["PaymentProof"];
        };
        PendingSettlement: {
            /**
             * @description On its way: do not pay again.
             * @enum {string}
             */
            status: "pending";
            /** @description Name of the payment. */
            paymentId: string;
            /**
             * @description Step that the payment has reached.
             * @enum {string}
             */
            paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
            /** @description Why it is not made yet, where the payer is the cause. */
            reason?: string;
            /**
             * @description What to do next.
             * @enum {string}
             */
            retryAction: "sign_anew" | "retry_same_payment" | "poll" | "approve_then_retry" | "wait_and_retry" | "abandon" | "ask_operator";
            /** @description Address to ask again, relative to the server; the same as the header Location. */
            pollUrl: string;
            /**
             * Format: date-time
             * @description After that the signed payment can move nothing any more.
             */
            authorizationExpiresAt: string;
            /** @description Of a purchase without a key: send it as `claim` to the same address for what the payment has become, and the key. Keep it as you keep a key. */
            claim?: string;
        };
        /** @description Requests that were paid for. */
        BoughtRequests: {
            /** @description Name of the payment. */
            paymentId: string;
            /** @description Identifier of the pack or tier. */
            packId: string;
            /** @description Name for people. */
            name: string;
            /** @description Requests bought. */
            requests: number;
            /** @description Of these, answered. */
            used: number;
            /**
             * Format: date-time
             * @description When they were bought.
             */
            boughtAt: string;
        };
        Payment: {
            /**
             * @description `active`: paid and provisioned. `pending`: on its way, do not pay again. `failed`: certain not to have been paid. `review`: the operator looks at it.
             * @enum {string}
             */
            status: "active" | "pending" | "failed" | "review";
            /** @description Name of the payment. */
            paymentId: string;
            /**
             * @description Step that the payment has reached.
             * @enum {string}
             */
            paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
            /** @description Why it is where it is; an open set of codes. */
            reason?: string;
            /**
             * @description What to do next.
             * @enum {string}
             */
            retryAction?: "sign_anew" | "retry_same_payment" | "poll" | "approve_then_retry" | "wait_and_retry" | "abandon" | "ask_operator";
            /** @description Address to ask again, relative to the server; the same as the header Location. */
            pollUrl?: string;
            /**
             * Format: date-time
             * @description After that the signed payment can move nothing any more.
             */
            authorizationExpiresAt?: string;
            subscription?: components["schemas"]["SubscriptionPeriod"];
            requests?: components["schemas"]["BoughtRequests"];
            settlement?: components["schemas"]["PaymentProof"];
        };
        Receipt: {
            /** @description Name of the payment. */
            paymentId: string;
            /** @description `quoteId` of POST /v1/billing/x402/quote. */
            quoteId: string;
            /**
             * @description `active`: paid and provisioned. `pending`: on its way, do not pay again. `failed`: certain not to have been paid. `review`: the operator looks at it.
             * @enum {string}
             */
            status: "active" | "pending" | "failed" | "review";
            /**
             * @description Step that the payment has reached.
             * @enum {string}
             */
            paymentState: "received" | "screened" | "settling" | "pending" | "unknown" | "settled" | "provisioned" | "rejected" | "void" | "review";
            /** @description Why it is where it is; an open set of codes. */
            reason: string | null;
            /** @description What was bought, as it was then. */
            tier: {
                /** @description Identifier of the tier. */
                tierId: string;
                /** @description Name of the tier for people. */
                name: string;
                /** @description Days that were bought; 0 of a pack, which is requests. */
                periodDays: number;
                /** @description Requests that were bought; absent of a tier. */
                requests?: number;
            };
            /** @description The period that it paid for; null until then. */
            subscription: {
                /** @description Name of the period. */
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
                /** @description What paid for it; null for what the operator granted. */
                paymentId: string | null;
            } | null;
            /** @description What was paid, in atomic units of the token. */
            amount: string;
            /** @description The same as a decimal, in units of the token. */
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
            /** @description A page for people about the transaction. */
            explorerUrl: string | null;
            /**
             * Format: date-time
             * @description When the payment was taken.
             */
            createdAt: string;
            /**
             * Format: date-time
             * @description When it last changed.
             */
            updatedAt: string;
        };
        Subscription: {
            /** @description What holds for you now. */
            tier: {
                /** @description Identifier of the tier. */
                id: string;
                /** @description Name of the tier for people. */
                name: string;
            };
            /** @description The period that gives it; null on the Free tier. */
            current: {
                /** @description Name of the period. */
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
                /** @description What paid for it; null for what the operator granted. */
                paymentId: string | null;
            } | null;
            /** @description Periods that have yet to begin, by start. */
            upcoming: components["schemas"]["SubscriptionPeriod"][];
            /** @description True while no period runs: you are on the Free tier. */
            free: boolean;
        };
        Health: {
            /**
             * @description Always `ok`; a dead process does not answer.
             * @enum {string}
             */
            status: "ok";
            /** @description Version of the server. */
            version: string;
        };
        Readiness: {
            /**
             * @description Always true; otherwise the answer is a 503.
             * @enum {boolean}
             */
            ready: true;
            checks: {
                /** @description The history can be read and written. */
                history: boolean;
                /** @description The ledger of keys can be read and written. */
                ledger: boolean;
                /** @description The server has started, and is not about to stop. */
                accepting: boolean;
                /** @description What is heard of the venue can be stored. Absent where this process does not record. */
                recording?: boolean;
            };
            signup: {
                /** @description New accounts are taken in. Never makes the server unready. */
                open: boolean;
                /** @description Why signup is closed, or why signups are refused at the moment. */
                reason?: string;
            };
            /** @description What is wrong with the recording, of this process or another, with the clock, or with selling, though requests may be sent. */
            warning?: string;
        };
        Pack: {
            /** @description Identifier of the pack or tier. */
            id: string;
            /** @description Name for people. */
            name: string;
            /** @description Requests bought. */
            requests: number;
            coins: ("btc" | "eth" | "sol" | "xrp" | "doge" | "bnb" | "hype" | "zec")[];
            routes: ("markets" | "prices" | "snapshots" | "quotes")[];
            requestsPerMinute: number;
            /** @description Price in units of the token, as a decimal. */
            priceUsdc: string;
            /** @description Whether it can be bought. */
            isForSale: boolean;
        };
        Bought: {
            /**
             * @description Paid, and what was bought is the payer’s.
             * @enum {string}
             */
            status: "active";
            /** @description What was bought for the account of the payer. */
            product: {
                /** @description Identifier of the pack or tier. */
                id: string;
                /** @description Name for people. */
                name: string;
                /** @description Days that were bought, of a tier. */
                periodDays?: number;
                /** @description Requests that were bought, of a pack. */
                requests?: number;
            };
            /** @description The period that was bought; null of a pack, and without `key` if no key was sent. */
            subscription: {
                /** @description Name of the period. */
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
                /** @description What paid for it; null for what the operator granted. */
                paymentId: string | null;
            } | null;
            /** @description Requests that were paid for. */
            requests: {
                /** @description Name of the payment. */
                paymentId: string;
                /** @description Identifier of the pack or tier. */
                packId: string;
                /** @description Name for people. */
                name: string;
                /** @description Requests bought. */
                requests: number;
                /** @description Of these, answered. */
                used: number;
                /**
                 * Format: date-time
                 * @description When they were bought.
                 */
                boughtAt: string;
            } | null;
            /** @description A key of the account, if the account begins with this payment. Keep it where secrets are kept. Null if the account existed before, if a key was sent, once the key was used, and if the same payment is sent again without its `payment-identifier`, or one that was not signed after it. */
            key: string | null;
            /** @description How the owner of the wallet gets a key; null with `key`, and if a key was sent. */
            howToGetKey: string | null;
            settlement: components["schemas"]["PaymentProof"];
        };
        ResourceList: {
            version: number;
            /** @description What can be bought; empty where nothing is sold without a key. */
            resources: string[];
            /** @description Address of the description of all routes. */
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
                        /** @description Every coin, also one of which nothing is held. */
                        data: components["schemas"]["Coin"][];
                        /** @description Always null: the coins fit on one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listMarkets: {
        parameters: {
            query?: {
                /** @description Only windows of this length. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Only markets of this status at the moment of the request; `closed` are those without a known winner. */
                status?: "upcoming" | "open" | "closed" | "resolved";
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
                /** @description First moment, inclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Only markets that it won. */
                outcome?: "up" | "down";
                /** @description With `true`, only markets of which a snapshot is held: not those that only the catalogue of the venue names. */
                withBooks?: boolean;
                /** @description Only the market that the venue calls so, if it is one of this coin: a list of one, or of none. Without any filter beside it. For example btc-updown-5m-1776153600. Slugs of simulated markets begin with `sim-`. */
                slug?: string;
                /** @description Newest window first, or oldest. */
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
                /** @description First moment, inclusive, of the time to look at. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of the time to look at. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
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
                /** @description A moment of the first day. Without it 31 days up to `to`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive: the day of the moment before it is the last one. Without it 31 days from `from`, or up to today. At most 366 days. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Only windows of this length. */
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
                        /** @description Every day of the range, oldest first. */
                        data: components["schemas"]["CoverageDay"][];
                        /** @description Always null: a range fits on one page. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    listSnapshots: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Snapshots on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Only the last snapshot of each outcome in each step of this length, the end of the step included. It keeps its own `timestamp` and is returned once: a step without a change has no row. A step longer than the market has its last snapshots. While a market is open, a step appears once a later state of each requested outcome is recorded (if an outcome has had none for long, a later state of the market), so a row that was returned never changes. With `view=consolidated` and one `outcome`, the last row in each step. */
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
    getSnapshotsAt: {
        parameters: {
            query: {
                /** @description The moment: the state prevailing then, at or before it and never after. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                ts: number | (string | Date);
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
                         * @description The moment asked for, UTC.
                         */
                        ts: string;
                        /** @description The prevailing snapshot of each outcome, up, then down; one that has none, or none recent enough, is left out. */
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
                    /** @description Moments of markets of the coin, in any order; each is answered by itself. */
                    requests: {
                        /** @description A market of the coin: a condition id (`0x` and 62 or 64 hex digits in any case), an asset id (up to 78 decimal digits) or a slug in any case, such as btc-updown-5m-1776153600. */
                        conditionId: string;
                        /**
                         * @description Outcome whose book is wanted.
                         * @enum {string}
                         */
                        outcome: "up" | "down";
                        /** @description The moment: the state prevailing then, at or before it and never after. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                        ts: number | (string | Date);
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
            /** @description An answer for each entry. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description One answer for each request, in their order. */
                        data: {
                            /** @description Of the market; where there is none what was sent, in lower case. */
                            conditionId: string;
                            /**
                             * @description Of the request.
                             * @enum {string}
                             */
                            outcome: "up" | "down";
                            /**
                             * Format: date-time
                             * @description The moment asked for, UTC.
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
                            /** @description Milliseconds from the `timestamp` of the snapshot to `ts`; with `stale` that of the state which is too old. */
                            ageMs: number | null;
                            /**
                             * @description The code of the 404 that the `GET` of the entry answers; null where it answers a snapshot. `unknown_market`: there is no such market of the coin. `no_snapshot`: nothing of the outcome was recorded by then. `stale`: the prevailing one is older than `maxAgeMs`.
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
                /** @description The moment: the state prevailing then, at or before it and never after. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                ts: number | (string | Date);
                /** @description Outcome that is traded. */
                outcome: "up" | "down";
                /** @description Side of the order: a buy takes asks, a sell takes bids. */
                side: "buy" | "sell";
                /** @description Shares, above 0 and at most 9000000000, at most six decimals. Send either this or `usdc`. */
                size?: string | number;
                /** @description USDC before fees, in the same bounds: what is spent on a buy, or what a sell should bring. Shares are rounded down to the millionth. */
                usdc?: string | number;
                /** @description The ladder: the outcome's `own` book, or that and the mirror of the other outcome's as one. The venue shows each order in both, so sizes are never added up. */
                view?: "own" | "consolidated";
                /** @description Fee in basis points of the traded value, 0 to 10000, at most four decimals. Without this and `feeRate` there is no fee. */
                feeBps?: string | number;
                /** @description Rate of the venue's schedule, 0 to 1, at most six decimals: each level costs shares × rate × price × (1 − price). The venue's own for markets of coins was `0.07` for takers in 2026. */
                feeRate?: string | number;
                /** @description Levels at worse prices are left alone: above 0 and below 1, at most six decimals. */
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
    listQuotes: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, of `timestamp`, or of `time` with `interval`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of `timestamp`, or of `time` with `interval`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description The state prevailing at each step of this length instead of every change; steps are multiples of it since 1970, UTC. A step after the expiry has no row, so of `1h` and a market of five minutes most have none. */
                interval?: "1s" | "5s" | "10s" | "15s" | "30s" | "1m" | "5m" | "15m" | "30m" | "1h" | "4h" | "1d";
                /** @description Only these fields of each quote, joined by commas, for example `timestamp,bid,ask,receivedAt`; all but `receivedAt` when absent. The rows are the same ones. Known are `time`, `ageMs`, `id`, `outcome`, `timestamp`, `bid`, `bidSize`, `ask`, `askSize`, `mid`, `spread`, `imbalance`, `receivedAt`. */
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
                        /** @description Quotes by `timestamp`, then by `id`; with `interval` by `time`, then up before down. Reversed by `order=desc`. */
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
                /** @description Only markets of this length. */
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
            /** @description The open markets. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Every open market, newest window first. */
                        data: components["schemas"]["OpenMarket"][];
                        /** @description Always null: the list is whole. */
                        nextCursor: string | null;
                        /** @description The newest price of the coin itself; null where none is recorded. GET /v1/{coin}/spot has all. */
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
                /** @description First moment, inclusive, of `timestamp`; with `interval` of the states that bars are made of. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of `timestamp`; with `interval` of the states that bars are made of. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Bars of this length instead of every change; they begin at multiples of it since 1970, UTC. */
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
                        /** @description Changes by `timestamp`, then by `id`; bars by `start`, then up before down. Reversed by `order=desc`. */
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
                /** @description Only windows of this length. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The open windows. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description Every open window of your coins, by coin, then by the end of the window. */
                        data: components["schemas"]["BoardWindow"][];
                        /** @description Always null: the list is whole. */
                        nextCursor: string | null;
                    };
                };
            };
        };
    };
    followBoard: {
        parameters: {
            query?: {
                /** @description Only windows of this length. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The events, until you leave or the server stops. */
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
                /** @description First moment, inclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
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
                        /** @description Trades by `timestamp`, those of one millisecond by outcome, price, size, side and transaction, whatever came first. Turned around by `order=desc`. */
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
                /** @description Only markets of this length. */
                timeframe: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Moments before the expiry, 1 to 8, separated by commas: a minus sign, a whole number, and `ms`, `s`, `m` or `h`. None may lie before the window. */
                offsets: string | readonly string[];
                /** @description First moment, inclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of the window's start. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Markets on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description A state or price older than this at its moment is left out: `up`, `down` or `spot` is null. */
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
                        /** @description By the window's start, and within a market in the order of `offsets`. */
                        data: components["schemas"]["PanelRow"][];
                        /** @description Cursor of the next page; null when no further market has closed. */
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
                /** @description First moment, inclusive; the start of the window when absent. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive; the end of the window when absent. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Whose book. */
                outcome?: "up" | "down";
                /** @description Bins of price between 0 and 1, all equally wide. */
                priceBins?: "10" | "20" | "50" | "100" | "200";
                /** @description Columns at most; a column is a whole number of milliseconds. */
                timeBins?: number;
                /** @description Of the sizes that a cell had during its column: the largest one, the last one, or their average weighted by time. To see liquidity being pulled, compare `max` with `last`. */
                agg?: "max" | "last" | "time-weighted";
                /** @description Adds `trades`, and to each column `pulled` and `traded`: by how much each cell fell since the end of the column before it, without the trades that took it and by them. */
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
                /** @description Takes precedence over `Accept`, which may name `application/x-ndjson`, `text/csv` or `application/vnd.apache.parquet`. NDJSON by default, also when `Accept` names none of them. */
                format?: "ndjson" | "csv" | "parquet";
                /** @description Only for CSV and Parquet. `levels` (the default): one row per level, whole books. `states`: one row per snapshot with its best `depth` levels of each side. */
                shape?: "levels" | "states";
                /** @description Only for CSV and Parquet: levels of each side. All by default with `levels`; 10 by default and at most 25 with `states`. */
                depth?: number;
                /** @description Adds the time at which the recorder received the state of each row: the last member `receivedAt` of NDJSON, the last column `received_at` of CSV and Parquet. */
                include?: "receivedAt";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description First moment, inclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of `timestamp`. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Resumes an interrupted download: the `id` of the last complete snapshot received, such as 1482734. Append the response to what you have; CSV then has no header. Not for Parquet. */
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
            /** @description The file. To find out whether it was sent completely, see `GET /v1/exports`. */
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
    exportDay: {
        parameters: {
            query: {
                /** @description A day in UTC, or a moment in it: the markets whose windows begin on that day (where a window is unknown, its first snapshot). Day and coin make one file. */
                day: string | (string | Date) | number;
                /** @description Only markets of this timeframe. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Markets that were `recorded` from the venue, that were `simulated`, or `all`. When absent: recorded ones as soon as one is held of the coin, simulated ones until then. */
                source?: "recorded" | "simulated" | "all";
                /** @description Takes precedence over `Accept`, which may name `application/x-ndjson`, `text/csv` or `application/vnd.apache.parquet`. NDJSON by default, also when `Accept` names none of them. */
                format?: "ndjson" | "csv" | "parquet";
                /** @description Only for CSV and Parquet. `levels` (the default): one row per level, whole books. `states`: one row per snapshot with its best `depth` levels of each side. */
                shape?: "levels" | "states";
                /** @description Only for CSV and Parquet: levels of each side. All by default with `levels`; 10 by default and at most 25 with `states`. */
                depth?: number;
                /** @description Adds the time at which the recorder received the state of each row: the last member `receivedAt` of NDJSON, the last column `received_at` of CSV and Parquet. */
                include?: "receivedAt";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Resumes an interrupted download: `conditionId:id` of the last complete snapshot received; the market may also be given by its slug or an asset id. Not for Parquet. */
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
            /** @description The file. To find out whether it was sent completely, see `GET /v1/exports`. */
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
                /** @description Which rows: those of the route of this name, and of `trades` each trade. Needs a tier with that route, and `trades` one with `prices`. */
                channel?: "snapshots" | "quotes" | "prices" | "trades";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Only for `snapshots`. Levels of each side, from the best; all when absent. */
                depth?: number;
                /** @description Seconds without an event after which a comment line is sent. */
                heartbeat?: number;
                /** @description Continue after this place instead of now: the `id` of an event, or `nextCursor` or `X-Resume-Cursor` of the route of the channel, ascending, without a range and with the same outcome and depth. The header `Last-Event-ID` takes precedence. */
                cursor?: string;
            };
            header?: {
                /** @description As `cursor`; `EventSource` sends it by itself when it connects again. */
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
            /** @description The events, until you leave or the server stops. */
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
                /** @description Which rows: those of the route of this name, and of `trades` each trade. Needs a tier with that route, and `trades` one with `prices`. */
                channel?: "snapshots" | "quotes" | "prices" | "trades";
                /** @description Only this outcome; both when absent. */
                outcome?: "up" | "down";
                /** @description Only for `snapshots`. Levels of each side, from the best; all when absent. */
                depth?: number;
                /** @description Seconds without an event after which a comment line is sent. */
                heartbeat?: number;
                /** @description Only markets of this length. */
                timeframe?: "5m" | "15m" | "1h" | "4h" | "1d";
                /** @description Continue after this place in each market instead of now: the `id` of an event of this route. All other parameters but `heartbeat` must be repeated. The header `Last-Event-ID` takes precedence. */
                cursor?: string;
            };
            header?: {
                /** @description As `cursor`; `EventSource` sends it by itself when it connects again. */
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
            /** @description The events, until you leave or the server stops. */
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
                /** @description First moment, inclusive, of `timestamp`; with `interval` of the ticks that bars are made of. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                from?: number | (string | Date);
                /** @description End, exclusive, of `timestamp`; with `interval` of the ticks that bars are made of. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                to?: number | (string | Date);
                /** @description Rows on a page; may change during a walk. */
                limit?: number;
                /** @description Continues after a page: its `nextCursor`, or its `X-Resume-Cursor` to follow an open market. All other parameters but `limit` must be repeated. */
                cursor?: string;
                /** @description Direction of time, within and across pages. */
                order?: "asc" | "desc";
                /** @description Only prices of this source, such as `chainlink`; all when absent. */
                source?: string;
                /** @description Only averages of so many seconds (TWAP), such as 60; 0 for prices of the moment. All when absent. */
                window?: number;
                /** @description Bars of this length instead of every price; they begin at multiples of it since 1970, UTC. */
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
                        /** @description Why there is nothing: no price of the coin was ever recorded. Null otherwise. */
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
                kind?: "snapshots" | "levels" | "quotes" | "trades" | "panel";
                /** @description Only files whose numbers are of this form. */
                numbers?: "decimal" | "double";
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
                        /** @description Files by timeframe, newest day first. */
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
            /** @description The part asked for. */
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
    listRevisions: {
        parameters: {
            query?: {
                /** @description First moment, inclusive, at which a change was made by our clock. Unix milliseconds (below 100000000000: seconds), or RFC 3339 such as 2026-04-14T08:00:10Z. */
                since?: number | (string | Date);
                /** @description Only this coin; all of your tier when absent. */
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
                        /** @description Changes in the order in which they were made. */
                        data: components["schemas"]["Revision"][];
                        /** @description Cursor of the next page; null exactly when no further row exists right now. */
                        nextCursor: string | null;
                        /**
                         * Format: date-time
                         * @description Every change since then is in the list; what changed before is not known.
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
            /** @description A page of the chain. */
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
                /** @description The one at this place. */
                sequence?: number;
                /** @description The newest of this day in UTC. */
                day?: string | (string | Date) | number;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The manifest, and its signature. */
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
                /** @description A citation such as `bookfeed:btc/5m/2026-04-14@r3`: coin, timeframe, UTC day, revision; without `@r3` the newest. */
                id: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description What is cited. */
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
                /** @description Only the table of this length. */
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
            /** @description The tables of the coin. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": {
                        /** @description A table of each length, the shortest first; empty until the first tables are made. */
                        data: components["schemas"]["CalibrationTable"][];
                        /** @description Always null: the list is whole. */
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
                        /** @description Always null: there are no further pages. */
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
                    /** @description Address of your wallet: `0x` and 40 hex digits in any case. */
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
                        /** @description Null: there is one page only. */
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
                    /** @description Your own name for the key. */
                    label?: string;
                    /** @description True to make a key only where the account has no valid one: otherwise the answer is 409 `key_limit`. By default a new key is made; if the account has bought nothing, the old one ends. */
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
                /** @description Name of the key; not a secret. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /**
                     * @description How long the old key continues to work; 0 ends it at once.
                     * @default 86400
                     */
                    overlapSeconds?: number;
                    /** @description Your own name for the key. */
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
                /** @description Name of the key; not a secret. */
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
                /** @description Name of the key; not a secret. */
                id: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": {
                    /** @description Your own name for the key. */
                    label: string;
                };
            };
        };
        responses: {
            /** @description The key as it is now. */
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
            /** @description What you may use and have used. */
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
                    /** @description Tier to buy, of GET /v1/billing/tiers. */
                    tierId: string;
                    /** @description Chain to pay on, of GET /v1/billing/x402/chains. */
                    network: string;
                    /** @description Symbol of the token to pay with. */
                    token: string;
                    /** @description Address of the wallet that will sign; by default the account's own. For another one the amount is a little below the price, and unique. */
                    payer?: string;
                    /** @description True to buy one more period although a payment for the same tier and token may still be made, or was made within the last hour. By default the answer is then the quote of that payment, with `paymentInFlight`. */
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
                /** @description Base64 of the payment payload of x402 v2 as JSON, at most 16384 bytes; instead of `paymentPayload`. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The payment payload of x402 v2 that a wallet signed; instead of the header PAYMENT-SIGNATURE. */
                    paymentPayload?: {
                        [key: string]: unknown;
                    };
                    /** @description Offer to get the challenge of, where no payment is sent. A payment names its offer itself. */
                    quoteId?: string;
                };
            };
        };
        responses: {
            /** @description Paid, and yours. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PaidSettlement"];
                };
            };
            /** @description On its way. Do not pay again. */
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
                /** @description Name of the payment. */
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
                /** @description `nextCursor` of the page before, unchanged. */
                cursor?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A page of receipts. */
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
            /** @description The process lives. */
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
            /** @description One heading a code. */
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
                    } & {
                        [key: string]: unknown;
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
                /** @description Base64 of the payment payload of x402 v2 as JSON, at most 16384 bytes. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path: {
                /** @description Identifier of the pack or tier. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The `claim` of a 202, in place of a payment: it returns what the payment has become, with the key until that was used. */
                    claim?: string;
                };
            };
        };
        responses: {
            /** @description Paid, and the payer’s. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bought"];
                };
            };
            /** @description On its way. Send `claim` to the same address, and sign no other payment. */
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
                /** @description `true` to buy one more period although the wallet has paid for the tier within the last hour. By default the answer is then that of the earlier payment, and the new one is not settled. */
                anotherPeriod?: "true" | "false";
            };
            header?: {
                /** @description Base64 of the payment payload of x402 v2 as JSON, at most 16384 bytes. */
                "PAYMENT-SIGNATURE"?: string;
            };
            path: {
                /** @description Identifier of the pack or tier. */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: {
            content: {
                "application/json": {
                    /** @description The `claim` of a 202, in place of a payment: it returns what the payment has become, with the key until that was used. */
                    claim?: string;
                };
            };
        };
        responses: {
            /** @description Paid, and the payer’s. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Bought"];
                };
            };
            /** @description On its way. Send `claim` to the same address, and sign no other payment. */
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
