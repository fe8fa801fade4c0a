//! Offhook's web portal: pages drawn on the server, plain forms, sessions in a cookie.
//!
//! A request becomes a [`Visit`](visit::Visit) (a page that is looked at) or a [`Post`](visit::Post) (a form that was
//! sent): session, role and, for a form, its token are checked before a handler runs, and the role stands in the
//! handler's signature. Handlers call `services`, as the REST adapter does, so a form can do nothing that the rules
//! refuse. What is refused becomes a page in plain words ([`Trouble`](trouble::Trouble)).

mod assets;
mod fields;
mod lang;
mod page;
mod pages;
mod parts;
mod portal;
mod prelude;
mod routes;
mod signed_out;
mod spanish;
mod theme;
mod trouble;
mod visit;

pub use portal::{PATH, Portal, PortalConfig};
pub use routes::{PagePath, pages};

// Unit tests and integration tests are one binary; the latter use the library from outside.
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
