import { useRef } from 'preact/hooks'

import { freshKeyStore, signUp } from '../lib/billing.ts'
import { facts } from '../lib/facts.ts'
import { apiKey } from '../lib/key.ts'
import type { Payer } from '../lib/wallet.ts'
import { WalletList } from './wallet-list.tsx'

/** Gives a key to a visitor whose wallet signs a message: EIP-4361, no name and no password. */
export function SignIn() {
  const label = useRef<HTMLInputElement>(null)
  const keep = useRef<HTMLInputElement>(null)
  const signIn = async (payer: Payer) => {
    const made = await signUp(payer, label.current?.value.trim() ?? '')
    freshKeyStore.set(made)
    apiKey.set(made.key, keep.current?.checked === true)
  }
  if (facts.isSignupOpen === false) {
    return (
      <div class="problem">
        <strong>Signup is closed on this server</strong>
        <p>
          The operator has closed signup, or has not configured the sanctions check that signup
          requires. Ask the operator for a key. <a href="/docs/access">Getting a key</a>
        </p>
      </div>
    )
  }
  return (
    <div class="stack">
      <label class="field">
        <span>Name of the key (optional)</span>
        <input ref={label} maxLength={60} placeholder="backtester" autocomplete="off" />
      </label>
      <label class="check">
        <input ref={keep} type="checkbox" /> Keep the key until this tab is closed
      </label>
      <WalletList verb="Sign in with" onPayer={signIn} />
      <p class="note">
        You sign a text that names this server. The signature costs nothing and moves no funds. The
        address is screened against sanctions lists. If this wallet already has a key of the Free
        tier, that key is revoked at once; if you still have it, paste it above instead.
      </p>
    </div>
  )
}
