export function PricingPage() {
  return (
    <section class="card">
      <h1>Pricing</h1>
      <p>This page is being built.</p>
    </section>
  )
}
