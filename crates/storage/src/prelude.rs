//! The names that nearly every file of queries uses.

pub(crate) use std::collections::{HashMap, HashSet};
pub(crate) use std::time::Duration;

pub(crate) use diesel::dsl::{count_star, not, sql};
pub(crate) use diesel::prelude::*;
pub(crate) use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text};
pub(crate) use offhook_boxed::boxed;
pub(crate) use offhook_domain::*;
pub(crate) use offhook_failpoints as failpoints;

pub(crate) use crate::Verdict::{Commit, Rollback};
pub(crate) use crate::database::{Conn, Db, RunQueryDsl, bulk, delete};
pub(crate) use crate::dialect::{Lock as _, dialect, queued_at, unlikely};
pub(crate) use crate::queries::locks;
pub(crate) use crate::queries::own::{claim_due, is_unclaimed, own};
pub(crate) use crate::queries::pages::{When, behind, earlier, newest, page};
pub(crate) use crate::records::*;
pub(crate) use crate::schema::*;
pub(crate) use crate::schema::{
    agent_versions as versions, batch_recipients as recipients, batch_tries as tries,
    conversation_analyses as analyses, conversation_moments as moments, conversations as calls,
    idempotency_keys as keys, knowledge_documents as documents, knowledge_gone as gone,
    knowledge_passages as passages, knowledge_postings as postings, knowledge_uploads as uploads,
    legacy_agents as legacy, phone_numbers as numbers, provider_credentials as credentials,
    request_logs as logs, service_settings as settings, sign_in_links as links,
    webhook_endpoint_health as health, webhook_endpoints as endpoints,
    whatsapp_received as received, whatsapp_sent as sent, whatsapp_threads as threads,
};
pub(crate) use crate::sql::{self, V, insert, insert_new, row};
pub(crate) use crate::store::{Answer, OnStore, Tx, keep, lease, mint, minted_at, read, transact};
pub(crate) use crate::{
    MasterKey, Result, Store, StoreConfig, StoreError, Verdict, ensure, some_or,
};
