import { useEffect, useState } from 'preact/hooks'

import { useStore } from '../lib/store.ts'
import { connect, findWallets, type Payer, type Wallet, walletsStore } from '../lib/wallet.ts'
import { Button } from './button.tsx'

type Props = {
  /** The action of a click on a wallet, such as "Sign in with". */
  verb: string
  isBusy?: boolean
  /** If it rejects, the error is shown. */
  onPayer?: (payer: Payer) => void | Promise<void>
  onWait?: (text: string) => void
}

/** The wallets of this browser; each asks for an account when it is clicked. */
export function WalletList({ verb, isBusy = false, onPayer, onWait }: Props) {
  const wallets = useStore(walletsStore)
  const [waitsFor, setWaitsFor] = useState<string>()
  const [fault, setFault] = useState('')
  useEffect(findWallets, [])
  const choose = async (wallet: Wallet) => {
    setFault('')
    setWaitsFor(wallet.info.name)
    onWait?.(wallet.info.name)
    try {
      const payer = await connect(wallet)
      await onPayer?.(payer)
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error))
    }
    setWaitsFor(undefined)
  }
  if (wallets.length === 0) return <NoWallet />
  return (
    <div class="stack">
      {wallets.map((wallet) => (
        <Button
          key={wallet.info.uuid}
          look="wallet"
          disabled={isBusy || waitsFor !== undefined}
          onClick={() => choose(wallet)}
        >
          {wallet.info.icon.startsWith('data:image/') && (
            <img src={wallet.info.icon} alt="" width="22" height="22" />
          )}
          {verb} {wallet.info.name}
        </Button>
      ))}
      <div aria-live="polite" class="stack">
        {waitsFor !== undefined && <p class="note">Confirm in {waitsFor}.</p>}
        {fault !== '' && (
          <p class="fault" role="alert">
            {fault}
          </p>
        )}
      </div>
    </div>
  )
}

function NoWallet() {
  return (
    <div class="problem">
      <strong>No wallet was found in this browser</strong>
      <p>
        To sign, you need a wallet with your account: a browser extension, or an app with its own
        browser. Any wallet that supports EIP-6963 works. Install one, or open this page in the
        browser of your wallet app.
      </p>
      <p>
        Without a wallet: the operator can make you a key, and <code>bookfeed pay</code> pays with a
        key file. <a href="/docs/access">Getting a key</a> ·{' '}
        <a href="/docs/payments#with-a-key-file">Paying with a key file</a>
      </p>
      <Button text="Search again" look="small" onClick={findWallets} />
    </div>
  )
}
