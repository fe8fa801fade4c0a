//! The names that nearly every file of use cases uses.

pub(crate) use std::collections::HashMap;
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use offhook_boxed::boxed;
pub(crate) use offhook_domain::body::Body as _;
pub(crate) use offhook_domain::json::Fault;
pub(crate) use offhook_domain::*;
pub(crate) use offhook_failpoints as failpoints;
pub(crate) use offhook_storage::*;
pub(crate) use tokio_util::sync::CancellationToken;

pub(crate) use crate::{
    Caller, Context, Live, Page, PageRequest, Providers, Refusal, Runner, UseCaseError,
};
