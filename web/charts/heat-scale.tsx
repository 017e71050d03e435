/** The colours of sizes, labelled with zero and the sizes of half and of the full colour. */

import { showCompact } from '../lib/format.ts'
import { halfOf, type SizeScale } from './heat-colors.ts'

type Props = { cutOff: number; scale: SizeScale }

export const HeatScale = ({ cutOff, scale }: Props) => (
  <div
    class="scale num"
    role="img"
    aria-label={`Colours of sizes, from no orders to ${showCompact(cutOff)} shares and more`}
  >
    <i class="scale-bids" />
    <i class="scale-asks" />
    <b>0</b>
    <b>{showCompact(halfOf(cutOff, scale))}</b>
    <b>{`${showCompact(cutOff)}+ shares`}</b>
  </div>
)
