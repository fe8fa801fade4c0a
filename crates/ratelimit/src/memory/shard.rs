//! A part of the clients: two generations, and shared cells for the overflow.

use hashbrown::HashTable;

use super::timeline::Timeline;
use super::{Answer, Seeds, State};
use crate::MINUTE_US;
use crate::key::{Key, Space};

/// A client that was idle for this long is like a new one: buckets are full ([`crate::Quota::refill_us`]), windows
/// over.
const GENERATION_US: i64 = 61_000_000;

/// Cells per shard that clients beyond the bound share.
const CELLS: usize = 1024;

pub(super) struct Shard {
    seeds: Seeds,
    time: Timeline,
    rotated_us: i64,
    current: Generation,
    previous: Generation,
    keys_per_generation: usize,
    /// Allocated at the first overflow.
    cells: Option<Box<[State]>>,
    cells_used_us: i64,
    overflowed: u64,
}

impl Shard {
    pub(super) fn new(seeds: Seeds, keys_per_generation: usize) -> Self {
        Self {
            seeds,
            time: Timeline::new(),
            rotated_us: i64::MIN,
            current: Generation::new(),
            previous: Generation::new(),
            keys_per_generation,
            cells: None,
            cells_used_us: i64::MIN,
            overflowed: 0,
        }
    }

    /// Applies `rule` to the state of `key`, and saves the state if the rule changed it.
    pub(super) fn decide<T: Answer>(
        &mut self,
        hash: u64,
        key: Key,
        clock_us: i64,
        rule: impl FnOnce(&mut State, i64) -> T,
    ) -> T {
        let now_us = self.time.advance(clock_us);
        let ahead_us = self.time.absorbed_us();
        self.rotate(now_us);
        if let Some(entry) = self.current.table.find_mut(hash, |entry| entry.is(key)) {
            let mut state = entry.state(self.current.base_us);
            let answer = rule(&mut state, now_us);
            entry.set(state, self.current.base_us);
            return answer.earlier_by(ahead_us);
        }
        let known = self.state_of(hash, key);
        let mut state = known;
        let answer = rule(&mut state, now_us);
        if state != known {
            self.store(hash, key, state, now_us);
        }
        answer.earlier_by(ahead_us)
    }

    /// The known state of a client that is not in the current generation. If there are cells, the client may have
    /// been counted in one since it was last in a table.
    fn state_of(&self, hash: u64, key: Key) -> State {
        let previous = &self.previous;
        let known = previous.table.find(hash, |entry| entry.is(key));
        let known = known.map_or(State::NEVER, |entry| entry.state(previous.base_us));
        self.cells
            .as_ref()
            .map_or(known, |cells| known.or_stricter(cells[cell_of(hash)]))
    }

    /// Saves the state of a client that is not in the current generation: there, or in a cell if the generation is
    /// full.
    fn store(&mut self, hash: u64, key: Key, state: State, now_us: i64) {
        if self.current.table.len() < self.keys_per_generation {
            self.current.insert(hash, key, state, &self.seeds);
            return;
        }
        let cells = self
            .cells
            .get_or_insert_with(|| vec![State::NEVER; CELLS].into_boxed_slice());
        let cell = &mut cells[cell_of(hash)];
        *cell = cell.or_stricter(state);
        self.cells_used_us = now_us;
        self.overflowed += 1;
    }

    /// Begins a new generation when the current one has lasted its time, and drops what no longer counts.
    fn rotate(&mut self, now_us: i64) {
        let age_us = now_us.saturating_sub(self.rotated_us);
        if age_us < GENERATION_US {
            return;
        }
        std::mem::swap(&mut self.current, &mut self.previous);
        self.current.restart(now_us);
        if age_us >= 2 * GENERATION_US {
            self.previous.restart(now_us);
        }
        self.rotated_us = now_us;
        if now_us.saturating_sub(self.cells_used_us) >= GENERATION_US {
            self.cells = None;
        }
    }

    pub(super) fn overflowed(&self) -> u64 {
        self.overflowed
    }

    /// Counts a client that returned in the next generation twice.
    pub(super) fn clients(&self) -> usize {
        self.current.table.len() + self.previous.table.len()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let cells = self.cells.as_ref().map_or(0, |cells| size_of_val(&**cells));
        self.current.table.allocation_size() + self.previous.table.allocation_size() + cells
    }
}

fn cell_of(hash: u64) -> usize {
    hash as usize % CELLS
}

struct Generation {
    /// The base of the entries' offsets: one minute before the generation began, when the oldest window that it may
    /// count could begin.
    base_us: i64,
    table: HashTable<Entry>,
}

impl Generation {
    const fn new() -> Self {
        Self {
            base_us: i64::MIN,
            table: HashTable::new(),
        }
    }

    fn insert(&mut self, hash: u64, key: Key, state: State, seeds: &Seeds) {
        let mut entry = Entry::new(key);
        entry.set(state, self.base_us);
        self.table
            .insert_unique(hash, entry, |entry| seeds.hash(entry.key()));
    }

    fn restart(&mut self, now_us: i64) {
        self.base_us = now_us.saturating_sub(MINUTE_US);
        // A table that was mostly empty is freed, so that memory shrinks after a rush.
        if self.table.len() < self.table.capacity() / 8 {
            self.table = HashTable::new();
        } else {
            self.table.clear();
        }
    }
}

/// A client in 24 bytes. Times are offsets from the generation's `base_us`: at most 60 s, plus 61 s until the
/// generation ends, plus 61 s until a bucket is full. 29 bits hold that. 0 is `State::NEVER`: a time at or before the
/// base is over.
struct Entry {
    id: [u64; 2],
    /// The space's number in the highest three bits, the bucket's offset below.
    space_and_tat: u32,
    window: u32,
}

const SPACE_SHIFT: u32 = 29;
const OFFSET_MASK: u32 = (1 << SPACE_SHIFT) - 1;

impl Entry {
    fn new(key: Key) -> Self {
        Self {
            id: key.id,
            space_and_tat: u32::from(key.space.number()) << SPACE_SHIFT,
            window: 0,
        }
    }

    fn key(&self) -> Key {
        Key {
            space: Space::new((self.space_and_tat >> SPACE_SHIFT) as u8),
            id: self.id,
        }
    }

    fn is(&self, key: Key) -> bool {
        self.key() == key
    }

    fn state(&self, base_us: i64) -> State {
        State {
            tat_us: instant(self.space_and_tat & OFFSET_MASK, base_us),
            window: instant(self.window, base_us),
        }
    }

    fn set(&mut self, state: State, base_us: i64) {
        self.space_and_tat = (self.space_and_tat & !OFFSET_MASK) | offset(state.tat_us, base_us);
        self.window = offset(state.window, base_us);
    }
}

fn instant(offset: u32, base_us: i64) -> i64 {
    if offset == 0 {
        i64::MIN
    } else {
        base_us.saturating_add(i64::from(offset))
    }
}

fn offset(instant_us: i64, base_us: i64) -> u32 {
    let offset = instant_us
        .saturating_sub(base_us)
        .clamp(0, i64::from(OFFSET_MASK));
    u32::try_from(offset).unwrap_or(OFFSET_MASK)
}
