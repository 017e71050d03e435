// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

struct TokenPermissions {
    address token;
    uint256 amount;
}

struct PermitTransferFrom {
    TokenPermissions permitted;
    uint256 nonce;
    uint256 deadline;
}

struct TransferDetails {
    address to;
    uint256 requestedAmount;
}

/// What the payer signs beyond the token and the amount.
struct Witness {
    address to;
    uint256 validAfter;
}

/// A permit of the token itself (EIP-2612), which lets Permit2 spend.
struct TokenPermit {
    uint256 value;
    uint256 deadline;
    bytes32 r;
    bytes32 s;
    uint8 v;
}

interface Permit2 {
    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        TransferDetails calldata details,
        address owner,
        bytes32 witness,
        string calldata witnessType,
        bytes calldata signature
    ) external;
}

interface PermitToken {
    function permit(
        address owner,
        address spender,
        uint256 value,
        uint256 deadline,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external;
}

/// Stands in for the contract that x402 payments by Permit2 go through: it can send only to the
/// address that the payer signed, and only the whole amount. It has no constructor, so that its code
/// can be put at the address where the real one is.
contract ExactPermit2Proxy {
    address public constant PERMIT2 = 0x000000000022D473030F116dDEE9F6B43aC78BA3;
    bytes32 public constant WITNESS_TYPEHASH = keccak256("Witness(address to,uint256 validAfter)");
    string public constant WITNESS_TYPE_STRING =
        "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)";

    event Settled();
    event SettledWithPermit();

    error InvalidAmount();
    error InvalidDestination();
    error InvalidOwner();
    error PaymentTooEarly();
    error Permit2612AmountMismatch();
    error ReentrancyGuardReentrantCall();

    bool private transient entered;

    modifier once() {
        if (entered) revert ReentrancyGuardReentrantCall();
        entered = true;
        _;
        entered = false;
    }

    function settle(
        PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external once {
        pay(permit, owner, witness, signature);
        emit Settled();
    }

    function settleWithPermit(
        TokenPermit calldata permit2612,
        PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) external once {
        if (permit2612.value != permit.permitted.amount) revert Permit2612AmountMismatch();
        // Somebody may have used it already; what counts is whether Permit2 may spend now.
        try PermitToken(permit.permitted.token).permit(
            owner,
            PERMIT2,
            permit2612.value,
            permit2612.deadline,
            permit2612.v,
            permit2612.r,
            permit2612.s
        ) {} catch {}
        pay(permit, owner, witness, signature);
        emit SettledWithPermit();
    }

    function pay(
        PermitTransferFrom calldata permit,
        address owner,
        Witness calldata witness,
        bytes calldata signature
    ) private {
        if (permit.permitted.amount == 0) revert InvalidAmount();
        if (owner == address(0)) revert InvalidOwner();
        if (witness.to == address(0)) revert InvalidDestination();
        if (block.timestamp < witness.validAfter) revert PaymentTooEarly();
        Permit2(PERMIT2).permitWitnessTransferFrom(
            permit,
            TransferDetails(witness.to, permit.permitted.amount),
            owner,
            keccak256(abi.encode(WITNESS_TYPEHASH, witness.to, witness.validAfter)),
            WITNESS_TYPE_STRING,
            signature
        );
    }
}
