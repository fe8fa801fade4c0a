//! What conversations' rows say of their recordings.

use crate::database::RunQueryDsl;
use diesel::prelude::*;
use offhook_domain::{AccountId, ConversationId};

use crate::Result;
use crate::database::Conn;
use crate::schema::conversations as calls;
use crate::sql::V;

/// Says that a spoken conversation's recording is kept, in whatever state it is; `false` if there is no such one.
pub(crate) async fn kept(conn: &mut Conn, account: AccountId, id: ConversationId) -> Result<bool> {
    let told = diesel::update(calls::table.find(V(id)))
        .filter(calls::account_id.eq(V(account)).and(calls::voice))
        .set(calls::has_audio.eq(true))
        .execute(conn)
        .await?;
    Ok(told > 0)
}
