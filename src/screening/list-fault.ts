/** A sanctions list that must not come into force. `message` says what it does, without its address: "is cut off". */
export class ListFault extends Error {
  override name = 'ListFault'
}
