/** Another value of the same kind with the smallest difference. */
export function changedValue(value: unknown): string | number | Uint8Array {
  if (typeof value === 'number') return value + 1009
  if (!(value instanceof Uint8Array)) return `${value ?? ''}x`
  return value.map((byte, index) => (index === value.length >> 1 ? byte ^ 1 : byte))
}
