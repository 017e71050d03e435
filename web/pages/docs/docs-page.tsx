export function DocsPage() {
  return (
    <section class="card">
      <h1>Docs</h1>
      <p>This page is being built.</p>
    </section>
  )
}
