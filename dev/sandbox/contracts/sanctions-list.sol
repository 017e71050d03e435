// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// A sanctions list for a local chain. Who pays the gas may change it: nobody else is there.
contract SanctionsList {
    mapping(address => bool) private listed;

    event SanctionedAddressesAdded(address[] addrs);
    event SanctionedAddressesRemoved(address[] addrs);

    function isSanctioned(address addr) external view returns (bool) {
        return listed[addr];
    }

    function addToSanctionsList(address[] calldata addrs) external {
        for (uint256 i = 0; i < addrs.length; i++) listed[addrs[i]] = true;
        emit SanctionedAddressesAdded(addrs);
    }

    function removeFromSanctionsList(address[] calldata addrs) external {
        for (uint256 i = 0; i < addrs.length; i++) listed[addrs[i]] = false;
        emit SanctionedAddressesRemoved(addrs);
    }
}
