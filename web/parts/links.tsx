import type { ComponentChildren } from 'preact'

import { facts } from '../lib/facts.ts'

type Props = { links: readonly (readonly [href: string, text: ComponentChildren])[]; here: string }

/** Links, with the one to the current page marked. */
export const Links = ({ links, here }: Props) =>
  links.map(([href, text]) => (
    <a key={href} href={href} {...(href === here ? { 'aria-current': 'page' as const } : {})}>
      {text}
    </a>
  ))

/** At once, so that nothing moves when the list of coins is there. */
export const coinNames: Readonly<Record<string, string>> = facts.coins ?? {}

/** The coins, each with its own page under `base`. */
export const CoinTabs = ({ base, coin }: { base: string; coin: string }) => (
  <nav class="tabs" aria-label="Coin">
    <Links
      links={Object.keys(coinNames).map((each) => [`${base}/${each}`, each.toUpperCase()])}
      here={`${base}/${coin}`}
    />
  </nav>
)
