//! The keys of counted clients.

use std::net::IpAddr;

use crate::client_ip;

/// The default prefix length of an IPv6 address that counts as one client. A subscriber holds at least a /64, and can
/// use every address in it.
pub const IPV6_PREFIX_BITS: u8 = 64;

/// Separates keys of different kinds that have the same bytes. There are eight spaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Space(u8);

impl Space {
    /// Network addresses: see [`Key::address`].
    pub const ADDRESS: Self = Self(0);
    /// Accounts.
    pub const ACCOUNT: Self = Self(1);

    /// The space with number `number`. 0 and 1 are [`Space::ADDRESS`] and [`Space::ACCOUNT`].
    ///
    /// # Panics
    ///
    /// If `number` is above 7: in a `const` this is a compile error.
    #[must_use]
    pub const fn new(number: u8) -> Self {
        assert!(number < 8, "there are eight spaces, 0 to 7");
        Self(number)
    }

    pub(crate) const fn number(self) -> u8 {
        self.0
    }
}

/// One counted client. Keys are exact: two clients never share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub(crate) space: Space,
    pub(crate) id: [u64; 2],
}

impl Key {
    /// The key of a network address. An IPv4 address (also an IPv4-mapped one) has its own key. An IPv6 address is
    /// counted by its first `ipv6_prefix_bits`, clamped to 48 to 64; the usual value is [`IPV6_PREFIX_BITS`].
    #[must_use]
    pub fn address(address: IpAddr, ipv6_prefix_bits: u8) -> Self {
        let network = match client_ip::network(address, ipv6_prefix_bits) {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        Self::id(Space::ADDRESS, network.octets())
    }

    /// The key of an account, by the 16 bytes of its id.
    #[must_use]
    pub fn account(id: [u8; 16]) -> Self {
        Self::id(Space::ACCOUNT, id)
    }

    /// The same client in another space, counted separately.
    #[must_use]
    pub const fn within(self, space: Space) -> Self {
        Self { space, ..self }
    }

    /// The key of any client with an id of 16 bytes.
    #[must_use]
    pub fn id(space: Space, id: [u8; 16]) -> Self {
        let id = u128::from_be_bytes(id);
        Self {
            space,
            id: [(id >> 64) as u64, id as u64],
        }
    }
}
