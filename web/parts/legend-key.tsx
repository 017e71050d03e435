import { partsOf, type Sign, SIGN_HEIGHT, SIGN_WIDTH } from '../lib/signs.ts'

type Props = { sign: Sign; class?: string }

/** The sign that a text of a legend explains, in the colour of the text. */
export const LegendKey = ({ sign, class: look = '' }: Props) => (
  <svg
    class={`key ${look}`.trimEnd()}
    data-sign={sign}
    viewBox={`0 0 ${SIGN_WIDTH} ${SIGN_HEIGHT}`}
    width={SIGN_WIDTH}
    height={SIGN_HEIGHT}
    aria-hidden="true"
  >
    {partsOf(sign).map((part) => (
      <path
        key={part.path}
        d={part.path}
        opacity={part.alpha ?? 1}
        {...('width' in part
          ? { fill: 'none', stroke: 'currentcolor', 'stroke-width': part.width }
          : { fill: 'currentcolor' })}
      />
    ))}
  </svg>
)
