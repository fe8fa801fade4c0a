//! The names that nearly every page uses.

pub(crate) use maud::{Markup, html};
pub(crate) use offhook_domain::*;

pub(crate) use crate::PATH;
pub(crate) use crate::fields::Fields;
pub(crate) use crate::lang::{Lang, text, wording};
pub(crate) use crate::page::Page;
pub(crate) use crate::parts::form::{self, Input, Select};
pub(crate) use crate::parts::list::{self, Table};
pub(crate) use crate::parts::words::{self, Tone, badge, when};
pub(crate) use crate::trouble::{Answer, Result, Trouble};
pub(crate) use crate::visit::layout::Section;
pub(crate) use crate::visit::{Admin, Developer, Post, Viewer, Visit, Visitor};
