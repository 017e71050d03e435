/** Columns of a table: each has a name, a type, and a function that reads it from a row. */

/**
 * `time` is Unix milliseconds. `millionths` are integer prices and sizes. `digits` is a decimal as
 * its source prints it, with at most 18 digits after the point.
 */
export type Kind = 'time' | 'int64' | 'int32' | 'boolean' | 'text' | 'millionths' | 'digits'

/** The type of prices and sizes in Parquet: exact decimals, or floats on request. */
export const numberForms = ['decimal', 'double'] as const
export type Numbers = (typeof numberForms)[number]

/** Undefined and null both mean no value. */
export type Value = string | number | boolean | null | undefined

export type ColumnType = {
  /** Name in the table: `condition_id`. */
  name: string
  kind: Kind
  isRequired?: boolean
}

/** `Row` is the object from which a row is read. */
export type Column<Row> = ColumnType & { read: (row: Row) => Value; fill?: undefined }

/**
 * A column whose value differs between the table rows of one `Row`, such as the levels of a book.
 * `fill` writes the values of all table rows of one `Row`, the first at `start`. A value that `fill`
 * does not write is null.
 */
export type SpreadColumn<Row> = ColumnType & {
  fill: (row: Row, values: Float64Array, start: number, codeOf: (text: string) => number) => void
}

export type Columns<Row> = readonly (Column<Row> | SpreadColumn<Row>)[]

/**
 * The column name of a member, the same in all tables: lists as CSV and Parquet, exports and day
 * files. JSON uses `camelCase`, tables `snake_case`; a nested member is named by its path:
 * `columnName('lastTrade', 'price')` is `last_trade_price`.
 */
export const columnName = (...path: readonly string[]): string =>
  path.join('_').replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Declares a nullable column; `name` is that of the JSON member. */
export const optional = <Row>(
  name: string,
  kind: Kind,
  read: (row: Row) => Value,
): Column<Row> => ({ name: columnName(name), kind, read })

/** Declares a column that has a value in every row. */
export const required = <Row>(
  name: string,
  kind: Kind,
  read: (row: Row) => Value,
): Column<Row> => ({ name: columnName(name), kind, isRequired: true, read })

export const mediaTypes = {
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
} as const
