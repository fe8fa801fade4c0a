//! The names that nearly every file of the command line uses.

pub(crate) use std::collections::BTreeMap;
pub(crate) use std::net::SocketAddr;
pub(crate) use std::path::{Path, PathBuf};
pub(crate) use std::sync::Arc;
pub(crate) use std::time::Duration;

pub(crate) use anyhow::{Context as _, bail, ensure};
pub(crate) use clap::{Args, Subcommand};
pub(crate) use offhook_domain::*;
pub(crate) use serde_json::{Value, json};
pub(crate) use tokio::time::timeout;

pub(crate) use crate::settings::Settings;
pub(crate) use crate::{output, parts};
