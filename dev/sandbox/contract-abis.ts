import { parseAbi } from 'viem'

export const usdcAbi = parseAbi([
  'function initialize(string name, string symbol, string currency, uint8 decimals, address masterMinter, address pauser, address blacklister, address owner)',
  'function initializeV2(string name)',
  'function initializeV2_1(address lostAndFound)',
  'function initializeV2_2(address[] blacklisted, string symbol)',
  'function configureMinter(address minter, uint256 allowance) returns (bool)',
  'function mint(address to, uint256 amount) returns (bool)',
  'function blacklist(address account)',
  'function unBlacklist(address account)',
  'function pause()',
  'function unpause()',
  'function balanceOf(address account) view returns (uint256)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function cancelAuthorization(address authorizer, bytes32 nonce, bytes signature)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
])

export const usdtAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function addToBlockedList(address user)',
  'function removeFromBlockedList(address user)',
  'function isBlocked(address user) view returns (bool)',
  'function approve(address spender, uint256 value) returns (bool)',
  'function transfer(address to, uint256 value) returns (bool)',
  'function balanceOf(address account) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
])

export const sanctionsAbi = parseAbi([
  'function isSanctioned(address addr) view returns (bool)',
  'function addToSanctionsList(address[] addrs)',
  'function removeFromSanctionsList(address[] addrs)',
])

export const permit2Abi = parseAbi([
  'function invalidateUnorderedNonces(uint256 wordPos, uint256 mask)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
])
