/** The index of the last row at or before a moment; -1 if all are later. */
export function indexAt(times: ArrayLike<number>, ms: number): number {
  let low = 0
  let high = times.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((times[middle] ?? Infinity) <= ms) low = middle + 1
    else high = middle
  }
  return low - 1
}
