//! Voices that agents may speak with: the shipped list, the providers' lists, which are fetched once a day and stored
//! in the database, and the private voices of single accounts.
//!
//! Each process keeps the whole sorted list in memory, some megabytes for 20,000 voices. Each request checks whether it
//! is still the database's.

mod adding;
mod own;
mod sets;
mod shipped;
mod snapshot;
mod sync;

use offhook_domain::ports::VoiceLibrary;
use parking_lot::RwLock;
use tokio::sync::Mutex;

pub(crate) use adding::UnreadyVoice;
pub use snapshot::VoicePlace;
pub use sync::{SyncOutcome, VoiceSyncError};

use crate::casefold::fold;
use crate::prelude::*;
use crate::{CatalogError, Result};
use shipped::Shipped;
use snapshot::{Listing, Search, Snapshot};

/// Voices read from the database at once.
const READ_AT_ONCE: usize = 256;

/// Filters a list of voices.
#[derive(Debug, Clone, Default)]
pub struct VoiceFilter {
    pub provider: Option<VoiceProvider>,
    /// Only voices that speak this language, two or three letters.
    pub language: Option<String>,
    pub gender: Option<VoiceGender>,
    /// Only with this text in the name.
    pub q: Option<String>,
    /// Only recommended ones, or only others.
    pub recommended: Option<bool>,
}

/// A voice as the list shows it.
#[derive(Debug, Clone)]
pub struct ListedVoice {
    pub voice: Voice,
    /// Whether it is hand-picked for Mexican Spanish.
    pub recommended: bool,
    /// Its position in the list.
    pub place: VoicePlace,
}

#[derive(Clone)]
pub struct Voices {
    ctx: Arc<Context>,
    shipped: Arc<Shipped>,
    libraries: Arc<Vec<Arc<dyn VoiceLibrary>>>,
    snapshot: Arc<RwLock<Arc<Snapshot>>>,
    reading: Arc<Mutex<()>>,
}

#[boxed]
impl Voices {
    pub(crate) fn new(ctx: Arc<Context>) -> Result<Self, CatalogError> {
        let shipped = Shipped::load()?;
        let snapshot = Listing::new(&shipped).with_shipped();
        Ok(Self {
            ctx,
            shipped: Arc::new(shipped),
            libraries: Arc::default(),
            snapshot: Arc::new(RwLock::new(Arc::new(snapshot))),
            reading: Arc::default(),
        })
    }

    /// Adds the providers whose voices can be listed.
    pub(crate) fn with_libraries(self, libraries: Vec<Arc<dyn VoiceLibrary>>) -> Self {
        Self {
            libraries: Arc::new(libraries),
            ..self
        }
    }

    /// Lists the account's voices after `after`: recommended ones first, then by provider, then by folded name, then by
    /// id.
    pub async fn list(
        &self,
        account: AccountId,
        filter: &VoiceFilter,
        after: Option<&VoicePlace>,
        limit: u32,
    ) -> Result<Page<ListedVoice>> {
        let snapshot = self.current().await?;
        let search = Search {
            provider: filter.provider,
            language: filter.language.as_ref().map(|l| l.to_ascii_lowercase()),
            gender: filter.gender,
            q: filter.q.as_deref().map(fold),
            recommended: filter.recommended,
        };
        let most = usize::try_from(limit).unwrap_or(usize::MAX);
        let most = most.saturating_add(1);
        let rows = match self.own(&snapshot, account).await? {
            None => snapshot.page(&search, after, most),
            Some(own) => own::page(&snapshot, &own, (&search, after), most),
        };
        Ok(Page::of(rows, limit))
    }

    /// The list as the database has it now.
    async fn current(&self) -> Result<Arc<Snapshot>> {
        let store = &self.ctx.store;
        let generation = store.voices_generation().await?;
        let known = self.known();
        if known.generation == generation {
            return Ok(known);
        }
        // One request reads; concurrent ones use its result.
        let _reading = self.reading.lock().await;
        let known = self.known();
        if known.generation == generation {
            return Ok(known);
        }
        // Whatever is written after this read of the generation is read again next time.
        let generation = store.voices_generation().await?;
        let mut listing = Listing::new(&self.shipped);
        let mut last = None;
        loop {
            let page = store.voices_behind(last.take(), READ_AT_ONCE).await?;
            let is_last = page.len() < READ_AT_ONCE;
            last = page
                .last()
                .map(|voice| (voice.provider, voice.voice_id.clone()));
            page.into_iter().for_each(|voice| listing.add(voice));
            if is_last {
                break;
            }
        }
        let owners = store.accounts_with_voices().await?;
        let mut fresh = listing.with_shipped();
        fresh.generation = generation;
        fresh.owners = owners.into_iter().collect();
        let fresh = Arc::new(fresh);
        *self.snapshot.write() = fresh.clone();
        Ok(fresh)
    }

    fn known(&self) -> Arc<Snapshot> {
        self.snapshot.read().clone()
    }
}
