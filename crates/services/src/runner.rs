//! What a conversation needs while it lasts, spoken or written.

use std::ops::Deref;
use std::sync::Arc;

use offhook_egress::GuardedClient;

use crate::recordings::Recordings;
use crate::{Context, Integrations, Knowledge, Live, Providers};

pub(crate) struct Runner {
    pub(crate) ctx: Arc<Context>,
    pub(crate) live: Arc<Live>,
    pub(crate) providers: Arc<Providers>,
    pub(crate) recordings: Arc<Recordings>,
    pub(crate) knowledge: Knowledge,
    pub(crate) integrations: Integrations,
    /// The client of `http` tools; its policy says which URLs they may point to.
    pub(crate) tool_client: GuardedClient,
    pub(crate) sso_client: GuardedClient,
}

impl Deref for Runner {
    type Target = Context;

    fn deref(&self) -> &Context {
        &self.ctx
    }
}
