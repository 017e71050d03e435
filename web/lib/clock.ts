/** The time of this device, which is what people compare with. */
export const nowMs = (): number => Date.now()
