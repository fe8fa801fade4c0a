//! The pages that people use, in a real browser.

mod reference;
