export function AccountPage() {
  return (
    <section class="card">
      <h1>Account</h1>
      <p>This page is being built.</p>
    </section>
  )
}
