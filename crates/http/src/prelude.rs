//! The names that nearly every file of this adapter uses.

pub(crate) use actix_web::{HttpRequest, HttpResponse};
pub(crate) use offhook_domain::*;
pub(crate) use serde::Serialize;
pub(crate) use serde_json::{Value, json};

pub(crate) use crate::endpoint::Endpoint;
pub(crate) use crate::openapi::shape::Shape;
pub(crate) use crate::reply::{self, Reply};
pub(crate) use crate::request::ask::Ask;
pub(crate) use crate::request::list::Listing;
pub(crate) use crate::request::query::{FromQuery, QueryReader};
pub(crate) use crate::{ApiError, Code, HttpState};
