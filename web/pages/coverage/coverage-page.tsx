export function CoveragePage() {
  return (
    <section class="card">
      <h1>Coverage</h1>
      <p>This page is being built.</p>
    </section>
  )
}
