/** Files of whole days: links that expire, and programs that read them. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'

import { type Problem, useApi } from '../../lib/api.ts'
import type { Listed } from '../../lib/bodies.ts'
import { useMoment } from '../../lib/clock.ts'
import { dayAfter } from '../../lib/days.ts'
import { type Archive, type Reader, readers, toFileCode } from '../../lib/file-code.ts'
import { showBytes, showCount, showSome, showStamp } from '../../lib/format.ts'
import { mayRead, type Rights } from '../../lib/rights.ts'
import { Card } from '../../parts/card.tsx'
import { Choice } from '../../parts/choice.tsx'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ProblemCard } from '../../parts/problem.tsx'
import { Records, type Row } from '../../parts/records.tsx'
import { TierCard } from '../../parts/tier-card.tsx'

/** A file as the server lists it; only the newest revision has a link. */
type DayFile = {
  name: string
  day: string
  kind: string
  numbers: string
  rows: number
  bytes: number
  link?: string
  linkExpires?: string
}
type LinkedFile = DayFile & { link: string }

/** Kinds of files, with the data that a tier must include besides books. */
const kinds = [
  { kind: 'quotes', route: 'quotes', text: 'quotes: changes of the best prices' },
  { kind: 'snapshots', route: 'snapshots', text: 'snapshots: books of 25 levels' },
  { kind: 'levels', route: 'snapshots', text: 'levels: books, one row per level' },
  { kind: 'changes', route: 'snapshots', text: 'changes: changed levels' },
  { kind: 'trades', route: 'prices', text: 'trades' },
  { kind: 'panel', route: 'prices', text: 'panel: markets at fixed times before their end' },
] as const
type Kind = (typeof kinds)[number]['kind']

/** `DOUBLE`, which pandas reads fastest. */
const NUMBERS = 'double'
const FILES_MAX = 1000
const SHOWN_MAX = 31
/** Links are renewed so long before they expire. */
const RENEWED_MS = 300_000

type Props = { coin: string; rights: Rights; timeframes: readonly string[] }

export function DayFiles({ coin, rights, timeframes }: Props) {
  const isIncluded = mayRead(rights, { route: 'snapshots', coin })
  const [kind, setKind] = useState<Kind>('quotes')
  const [chosen, setTimeframe] = useState<string>()
  const timeframe = chosen ?? timeframes[0] ?? '5m'
  const [range, setRange] = useState<{ from?: string; until?: string }>({})
  const own = useApi<Listed<DayFile>>(isIncluded ? `/v1/${coin}/files` : undefined, {
    kind,
    timeframe,
    numbers: NUMBERS,
    links: '1h',
    limit: FILES_MAX,
  })
  const open = useApi<{ data: DayFile[] }>(isIncluded ? undefined : '/v1/sample/files')
  const { data, problem, isLoading, reload } = isIncluded ? own : open
  const files = (isLoading ? [] : (data?.data ?? [])).filter(
    (file): file is LinkedFile =>
      file.link !== undefined && file.kind === kind && file.numbers === NUMBERS,
  )
  const expires = files[0]?.linkExpires
  useMoment(expires === undefined ? undefined : Date.parse(expires) - RENEWED_MS, reload)
  const first = range.from ?? files.at(-1)?.day ?? ''
  const last = range.until ?? files[0]?.day ?? ''
  const wanted = isIncluded ? files.filter(({ day }) => day >= first && day <= last) : files
  const { route } = kinds.find((each) => each.kind === kind) ?? kinds[0]
  const hasKind = !isIncluded || mayRead(rights, { route, coin })
  return (
    <Card title={isIncluded ? 'Files of whole days' : 'Files of a sample day'}>
      <p class="note">
        {isIncluded
          ? 'A Parquet file for each day and kind, made when every window of the day is over and resolved.'
          : `Files of ${coin.toUpperCase()} need a tier with order books. The files of one day are open to everybody.`}{' '}
        {!isIncluded && (
          <>
            <a href="/pricing">Compare tiers</a>{' '}
          </>
        )}
        <a href="/docs/data">What the columns mean</a>
      </p>
      <div class="row file-filters">
        <Select label="Kind" value={kind} onChange={(value) => setKind(value as Kind)}>
          {kinds.map((each) => (
            <option key={each.kind} value={each.kind}>
              {each.text}
            </option>
          ))}
        </Select>
        {isIncluded && (
          <>
            <Select label="Length of windows" value={timeframe} onChange={setTimeframe}>
              {(timeframes.length > 0 ? timeframes : [timeframe]).map((each) => (
                <option key={each}>{each}</option>
              ))}
            </Select>
            <DayInput
              label="First day"
              value={first}
              onChange={(from) => setRange({ ...range, from })}
            />
            <DayInput
              label="Last day"
              value={last}
              onChange={(until) => setRange({ ...range, until })}
            />
          </>
        )}
      </div>
      <div class="file-list stack">
        {hasKind ? (
          <Listing
            {...{ files: wanted, problem, isLoading, reload, expires }}
            none={noneText({ isIncluded, hasOthers: files.length > 0 })}
            archive={
              isIncluded && last !== ''
                ? { coin, query: { kind, timeframe, from: first, to: dayAfter(last) } }
                : undefined
            }
          />
        ) : (
          <TierCard what={`Files of ${kind}`} />
        )}
      </div>
    </Card>
  )
}

/** The text in place of an empty list. */
function noneText({ isIncluded, hasOthers }: { isIncluded: boolean; hasOthers: boolean }): string {
  if (hasOthers) return 'No day of this range has a file.'
  return isIncluded
    ? 'No file yet. A day gets its files when all its windows are over and resolved, or three days later, if the operator has them made.'
    : 'This server has no open day.'
}

type ListingProps = {
  files: readonly LinkedFile[]
  /** Text in place of an empty list. */
  none: string
  problem: Problem | undefined
  isLoading: boolean
  reload: () => void
  expires: string | undefined
  archive: Archive | undefined
}

function Listing({ files, none, problem, isLoading, reload, expires, archive }: ListingProps) {
  if (problem) return <ProblemCard problem={problem} onRetry={reload} />
  if (isLoading) return <p class="note">Reading the list of files …</p>
  if (files.length === 0) return <p class="note">{none}</p>
  const rows = files.slice(0, SHOWN_MAX).map(toRow)
  return (
    <>
      <Programs links={files.map(({ link }) => link)} archive={archive} />
      <p class="note">
        A link opens one file without a key until {showStamp(expires)}. While this page is open, it
        renews its links.
        {files.length > SHOWN_MAX &&
          ` The newest ${SHOWN_MAX} of ${showSome(files.length, 'file')} are listed; the programs read all.`}
      </p>
      <div class="file-rows" tabIndex={0} role="region" aria-label="Files">
        <Records caption="Files" columns={['File', 'Rows', 'Size', '']} rows={rows} none="" />
      </div>
    </>
  )
}

const toRow = ({ name, link, rows, bytes }: LinkedFile): Row => ({
  key: name,
  cells: [
    <a href={link} download={name}>
      {name}
    </a>,
    <span class="num">{showCount(rows)}</span>,
    <span class="num">{showBytes(bytes)}</span>,
    <CopyButton text={link} name="Copy link" size="tiny" />,
  ],
})

const options = readers.map((each) => [each, each] as const)

function Programs({ links, archive }: { links: readonly string[]; archive: Archive | undefined }) {
  const [reader, setReader] = useState<Reader>('DuckDB')
  const code = toFileCode(reader, links, archive)
  return (
    <div class="calls">
      <div class="row spread">
        <Choice label="Program" options={options} value={reader} onChoose={setReader} />
        <CopyButton key={reader} text={code} size="tiny" />
      </div>
      <pre tabIndex={0}>
        <code>{code}</code>
      </pre>
      <p class="note">
        {reader === 'DuckDB' && archive !== undefined
          ? 'The archive as one table: a statement over links that are valid for a day. The command reads your key from the variable KEY.'
          : 'The links are in the program, so treat it like a key until they expire.'}
      </p>
    </div>
  )
}

type FieldProps = { label: string; value: string; onChange: (value: string) => void }

const Select = ({
  label,
  value,
  onChange,
  children,
}: FieldProps & { children: ComponentChildren }) => (
  <label class="field">
    <span>{label}</span>
    <select value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
      {children}
    </select>
  </label>
)

/** A day in UTC; an emptied field changes nothing. */
const DayInput = ({ label, value, onChange }: FieldProps) => (
  <label class="field">
    <span>{label}</span>
    <input
      type="date"
      value={value}
      onChange={({ currentTarget: { value: day } }) => day !== '' && onChange(day)}
    />
  </label>
)
