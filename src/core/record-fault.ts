/**
 * Says what is wrong with a recorded object, a snapshot or a fact of a market,
 * to the person who recorded it.
 */
export class RecordFault extends Error {
  constructor(reason: string, options?: ErrorOptions) {
    super(reason, options)
    this.name = 'RecordFault'
  }
}
