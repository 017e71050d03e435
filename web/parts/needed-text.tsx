import { outcomeNames, showCoinPrice } from '../lib/format.ts'
import type { Needed } from '../lib/needed.ts'

/** `needs +$12.00 for Up in 41 s`. */
export const NeededText = ({ needed: { price, side, seconds, change } }: { needed: Needed }) => (
  <span class={`needed ${side}`} title={`The average from now on must be ${showCoinPrice(price)}.`}>
    needs {change} for {outcomeNames[side]} in {seconds} s
  </span>
)
