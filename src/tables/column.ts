/** What a table is made of: columns, each with a name, a kind and the way it is read from a row. */

/**
 * `time` is Unix milliseconds. `millionths` are prices and sizes as integers. `digits` is a decimal
 * as its source prints it, at most 18 digits after the point.
 */
export type Kind = 'time' | 'int64' | 'int32' | 'boolean' | 'text' | 'millionths' | 'digits'

/** How Parquet has prices and sizes: exactly, or as floats where that is asked for. */
export const numberForms = ['decimal', 'double'] as const
export type Numbers = (typeof numberForms)[number]

/** Undefined and null are the same: no value. */
export type Value = string | number | boolean | null | undefined

export type ColumnType = {
  /** In the table: `condition_id`. */
  name: string
  kind: Kind
  isRequired?: boolean
}

/** `Row` is what a row of the table is read from. */
export type Column<Row> = ColumnType & { read: (row: Row) => Value; fill?: undefined }

/**
 * A column whose value differs between the rows that one `Row` becomes, such as the levels of a
 * book. `fill` sets as many values as there are rows, from `start` on; one that it leaves is null.
 */
export type SpreadColumn<Row> = ColumnType & {
  fill: (row: Row, values: Float64Array, start: number, codeOf: (text: string) => number) => void
}

export type Columns<Row> = readonly (Column<Row> | SpreadColumn<Row>)[]

/**
 * The column of a member, in every table: lists as CSV and Parquet, exports and files of days. JSON
 * has `camelCase`, tables have `snake_case`; a member of an object within is named after both:
 * `columnName('lastTrade', 'price')` is `last_trade_price`.
 */
export const columnName = (...path: readonly string[]): string =>
  path.join('_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Declares a column; `name` is that of the member in JSON. */
export const optional = <Row>(
  name: string,
  kind: Kind,
  read: (row: Row) => Value,
): Column<Row> => ({ name: columnName(name), kind, read })

/** The same for a column that has a value in every row. */
export const required = <Row>(
  name: string,
  kind: Kind,
  read: (row: Row) => Value,
): Column<Row> => ({ name: columnName(name), kind, isRequired: true, read })

export const mediaTypes = {
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
} as const
