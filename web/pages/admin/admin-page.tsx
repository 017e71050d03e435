export function AdminPage() {
  return (
    <section class="card">
      <h1>Admin</h1>
      <p>This page is being built.</p>
    </section>
  )
}
