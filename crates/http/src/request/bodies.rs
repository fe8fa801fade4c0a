//! Limits how many body bytes the process holds at once: in all, and per sender.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use offhook_ratelimit::{IPV6_PREFIX_BITS, Key};
use parking_lot::Mutex;

use crate::prelude::*;

const MIB: usize = 1024 * 1024;

/// The first bytes of every body, which are not counted: most requests are no longer.
const FREE: usize = 16 * 1024;

/// Bytes in flight from clients with neither key nor session: per address, and in all.
const STRANGERS: (usize, usize) = (8 * MIB, 32 * MIB);

/// Bytes in flight per account, and from all accounts together. The largest body has 20 MiB.
const ACCOUNTS: (usize, usize) = (48 * MIB, 192 * MIB);

/// `Retry-After` in seconds of a refused body.
const AGAIN_S: u64 = 5;

#[derive(Debug, Clone, Copy)]
pub enum Sender {
    /// An unauthenticated client, by its address.
    Stranger(IpAddr),
    /// The account of a key or a session.
    Account(AccountId),
}

impl Sender {
    fn key(self) -> Key {
        match self {
            Self::Stranger(address) => Key::address(address, IPV6_PREFIX_BITS),
            Self::Account(account) => Key::account(account.uuid().into_bytes()),
        }
    }
}

/// The bytes of all bodies that are arriving or being read.
#[derive(Debug, Default)]
pub(crate) struct Bodies {
    strangers: Mutex<Held>,
    accounts: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    each: HashMap<Key, usize>,
}

impl Bodies {
    fn pool(&self, sender: Sender) -> (&Mutex<Held>, (usize, usize)) {
        match sender {
            Sender::Stranger(_) => (&self.strangers, STRANGERS),
            Sender::Account(_) => (&self.accounts, ACCOUNTS),
        }
    }

    fn take(&self, sender: Sender, bytes: usize) -> bool {
        let (held, (most_each, most_all)) = self.pool(sender);
        let mut held = held.lock();
        let all = held.all + bytes;
        let one = held.each.entry(sender.key()).or_default();
        let has_room = *one + bytes <= most_each && all <= most_all;
        if has_room {
            *one += bytes;
            held.all = all;
        } else if *one == 0 {
            held.each.remove(&sender.key());
        }
        has_room
    }

    fn give_back(&self, sender: Sender, bytes: usize) {
        let (held, _) = self.pool(sender);
        let mut held = held.lock();
        held.all -= bytes;
        if let Some(one) = held.each.get_mut(&sender.key()) {
            *one -= bytes;
            if *one == 0 {
                held.each.remove(&sender.key());
            }
        }
    }
}

/// The bytes reserved for one body; dropping it releases them.
#[derive(Debug)]
pub struct Room {
    bodies: Arc<Bodies>,
    sender: Sender,
    counted: usize,
}

impl Room {
    /// An empty reservation.
    pub(super) const fn new(bodies: Arc<Bodies>, sender: Sender) -> Self {
        Self {
            bodies,
            sender,
            counted: 0,
        }
    }

    /// Grows the reservation to `bytes` in all. Fails with `service_unavailable` if the sender or all senders
    /// together have reached their limit.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let more = bytes.saturating_sub(FREE).saturating_sub(self.counted);
        if more > 0 {
            if !self.bodies.take(self.sender, more) {
                return Err(no_room());
            }
            self.counted += more;
        }
        Ok(())
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if self.counted > 0 {
            self.bodies.give_back(self.sender, self.counted);
        }
    }
}

fn no_room() -> ApiError {
    let message = "Too many long bodies are arriving at once. Nothing was done; send fewer at a time, or try again shortly.";
    Code::ServiceUnavailable.error(message).retry_after(AGAIN_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(bodies: &Arc<Bodies>, sender: Sender, bytes: usize) -> Option<Room> {
        let mut room = Room::new(bodies.clone(), sender);
        room.grow_to(bytes).ok().map(|()| room)
    }

    #[test]
    fn each_sender_has_a_share_and_all_of_them_a_bound() {
        let bodies = Arc::default();
        let from = |last| Sender::Stranger(IpAddr::from([203, 0, 113, last]));
        let (each, all) = STRANGERS;
        assert!(room(&bodies, from(1), each + FREE + 1).is_none());
        let mut held: Vec<Room> = (1..=4)
            .map(|last| room(&bodies, from(last), each + FREE).unwrap())
            .collect();
        assert_eq!(bodies.strangers.lock().all, all);
        assert!(room(&bodies, from(9), FREE + 1).is_none());
        // Short bodies, and bodies sent with a key, still fit.
        assert!(room(&bodies, from(1), FREE).is_some());
        assert!(room(&bodies, Sender::Account(AccountId::nil()), 20 * MIB).is_some());
        held.pop();
        assert!(room(&bodies, from(9), FREE + 1).is_some());
        drop(held);
        assert!(bodies.strangers.lock().each.is_empty());
        assert_eq!(bodies.strangers.lock().all, 0);
    }

    #[test]
    fn a_body_that_grows_is_counted_once() {
        let bodies = Arc::default();
        let mut room = Room::new(bodies, Sender::Account(AccountId::nil()));
        for bytes in [FREE, FREE + 1, 2 * MIB, 2 * MIB] {
            room.grow_to(bytes).unwrap();
        }
        assert_eq!(room.bodies.accounts.lock().all, 2 * MIB - FREE);
    }
}
