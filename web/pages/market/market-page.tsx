export function MarketPage() {
  return (
    <section class="card">
      <h1>Market</h1>
      <p>This page is being built.</p>
    </section>
  )
}
