//! The documents that published versions answer from.

use crate::prelude::*;
use crate::schema::knowledge_pins as pins;

/// Documents pinned per statement.
const AT_ONCE: usize = 500;

/// Pins the documents that a version names, as they are now, for a version without pins. Missing documents are omitted.
pub(crate) async fn pin(
    conn: &mut Conn,
    account: AccountId,
    (agent, version): (AgentId, i32),
    (ids, folders): (Vec<DocumentId>, Vec<FolderId>),
) -> Result<()> {
    let mut named = super::documents::within(conn, account, folders).await?;
    named.extend(ids);
    // In id order, so that two publications never deadlock.
    named.sort_unstable();
    named.dedup();
    for some in named.chunks(AT_ONCE) {
        locks::hold_documents(conn, some).await?;
        let hashes: Vec<(DocumentId, Option<Vec<u8>>)> = documents::table
            .filter(documents::account_id.eq(V(account)))
            .filter(documents::id.eq_any(some.iter().copied().map(V)))
            .select((documents::id, documents::content_hash))
            .load(conn)
            .await?;
        for (document, hash) in hashes {
            insert! {
                conn, pins: agent_id = agent, version, document_id = document, content_hash = hash
            }?;
        }
    }
    Ok(())
}

/// The agents whose published version pins the document, by name.
pub(crate) async fn agents(
    conn: &mut Conn,
    account: AccountId,
    document: DocumentId,
) -> Result<Vec<PinningAgent>> {
    Ok(agents::table
        .inner_join(pins::table.on(pins::agent_id.eq(agents::id)))
        .filter(pins::document_id.eq(V(document)))
        .filter(pins::version.eq(agents::published_version))
        .filter(agents::account_id.eq(V(account)))
        .order((agents::name_folded, agents::id))
        .select((agents::id, agents::name))
        .load(conn)
        .await?)
}

/// Deletes every pin of a document.
pub(crate) async fn forget(conn: &mut Conn, document: DocumentId) -> Result<()> {
    diesel::delete(pins::table.filter(pins::document_id.eq(V(document))))
        .run(conn)
        .await
}

impl Store {
    /// The documents that a version of an agent answers from.
    pub fn pinned_documents(
        &self,
        account: AccountId,
        agent: AgentId,
        version: i32,
    ) -> Answer<'_, Vec<DocumentId>> {
        documents::table
            .inner_join(pins::table.on(pins::document_id.eq(documents::id)))
            .filter(pins::agent_id.eq(V(agent)))
            .filter(pins::version.eq(version))
            .filter(documents::account_id.eq(V(account)))
            .filter(documents::status.eq(V(DocumentStatus::Ready)))
            .filter(
                pins::content_hash
                    .is_null()
                    .or(pins::content_hash.eq(documents::content_hash)),
            )
            .select(documents::id)
            .read_all(self)
    }
}
