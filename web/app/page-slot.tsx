/** Loads the code of a page when it is first shown, so that none weighs on the others. */

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

import type { PagePath, Params } from '../paths.ts'

type Page = ComponentType<{ params: Params }>
type Load = () => Promise<Page>

const explore: Load = async () => (await import('../pages/explore/explore-page.tsx')).ExplorePage
const coverage: Load = async () =>
  (await import('../pages/coverage/coverage-page.tsx')).CoveragePage
const docs: Load = async () => (await import('../pages/docs/docs-page.tsx')).DocsPage

const pages: Record<PagePath, Load> = {
  '/': explore,
  '/markets/:coin': explore,
  '/markets/:coin/:market': async () =>
    (await import('../pages/market/market-page.tsx')).MarketPage,
  '/coverage': coverage,
  '/coverage/:coin': coverage,
  '/pricing': async () => (await import('../pages/pricing/pricing-page.tsx')).PricingPage,
  '/account': async () => (await import('../pages/account/account-page.tsx')).AccountPage,
  '/docs': docs,
  '/docs/:name': docs,
  '/admin': async () => (await import('../pages/admin/admin-page.tsx')).AdminPage,
}

const loaded = new Map<Load, Page>()

export function PageSlot({ found }: { found: { page: PagePath; params: Params } | undefined }) {
  const load = found && pages[found.page]
  const [, setLoaded] = useState<Load>()
  const [isFailed, setFailed] = useState(false)
  useEffect(() => {
    if (load === undefined || loaded.has(load)) return
    setFailed(false)
    load().then(
      (page) => {
        loaded.set(load, page)
        setLoaded(() => load)
      },
      () => setFailed(true),
    )
  }, [load])
  if (load === undefined) {
    return (
      <section class="card">
        <h1>Nothing here</h1>
        <p>
          There is no such page. <a href="/">Explore the markets</a>.
        </p>
      </section>
    )
  }
  const Page = loaded.get(load)
  if (Page !== undefined && found !== undefined) return <Page params={found.params} />
  if (!isFailed) return <div class="page-wait" aria-busy="true" />
  return (
    <p role="alert">
      This page could not be loaded. <a href={location.href}>Load it again</a>.
    </p>
  )
}
