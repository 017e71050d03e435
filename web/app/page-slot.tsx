/** Loads the code of a page when it is first shown, so that it does not delay the others. */

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import { coinNames } from '../parts/links.tsx'
import type { Found, PageModule, Params } from '../paths.ts'

type Page = ComponentType<{ params: Params }>

const loads: Record<PageModule, () => Promise<Page>> = {
  'board/board-page': async () => (await import('../pages/board/board-page.tsx')).BoardPage,
  'explore/explore-page': async () =>
    (await import('../pages/explore/explore-page.tsx')).ExplorePage,
  'market/market-page': async () => (await import('../pages/market/market-page.tsx')).MarketPage,
  'coverage/coverage-page': async () =>
    (await import('../pages/coverage/coverage-page.tsx')).CoveragePage,
  'calibration/calibration-page': async () =>
    (await import('../pages/calibration/calibration-page.tsx')).CalibrationPage,
  'pricing/pricing-page': async () =>
    (await import('../pages/pricing/pricing-page.tsx')).PricingPage,
  'account/account-page': async () =>
    (await import('../pages/account/account-page.tsx')).AccountPage,
  'docs/docs-page': async () => (await import('../pages/docs/docs-page.tsx')).DocsPage,
  'docs/swagger-page': async () => (await import('../pages/docs/swagger-page.tsx')).SwaggerPage,
  'admin/admin-page': async () => (await import('../pages/admin/admin-page.tsx')).AdminPage,
}

const loaded = new Map<PageModule, Page>()

/** Makes a page ready to be shown at once. */
export async function loadPage(module: PageModule): Promise<void> {
  loaded.set(module, await loads[module]())
}

export function PageSlot({ found }: { found: Found | undefined }) {
  const module = found?.module
  const [, setLoaded] = useState<PageModule>()
  const [isFailed, setFailed] = useState(false)
  useEffect(() => {
    if (module === undefined || loaded.has(module)) return
    setFailed(false)
    loadPage(module).then(
      () => setLoaded(module),
      () => setFailed(true),
    )
  }, [module])
  if (found === undefined) {
    return (
      <section class="card">
        <h1>Page not found</h1>
        <p>
          No page has this address. <a href="/markets/btc">Explore the markets</a>.
        </p>
      </section>
    )
  }
  if (!((found.params.coin?.toLowerCase() ?? 'btc') in coinNames)) {
    return (
      <section class="card">
        <h1>No such coin</h1>
        <p>
          There is no coin {found.params.coin} here. <a href="/markets/btc">Explore the markets</a>.
        </p>
      </section>
    )
  }
  const Page = loaded.get(found.module)
  if (Page !== undefined) return <Page params={found.params} />
  if (!isFailed) return <div class="page-wait" aria-busy="true" />
  return (
    <p role="alert">
      This page could not be loaded. <a href={location.href}>Load again</a>.
    </p>
  )
}
