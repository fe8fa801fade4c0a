//! Every page has a test of its main task.

use std::collections::BTreeSet;

/// The tasks of all modules.
const ALL: [&[(&str, &str)]; 12] = [
    super::DONE,
    super::agents::DONE,
    super::calls::DONE,
    super::campaigns::DONE,
    super::entry::DONE,
    super::knowledge::DONE,
    super::money::DONE,
    super::numbers::DONE,
    super::own_keys::DONE,
    super::people::DONE,
    super::tools::DONE,
    super::webhooks::DONE,
];

#[test]
fn every_page_of_the_router_has_a_test_that_does_what_it_is_for() {
    let pages = offhook_portal::pages().into_iter();
    let pages: BTreeSet<String> = pages.filter(|one| one.whole).map(|one| one.path).collect();
    let done = ALL
        .into_iter()
        .flatten()
        .map(|(page, _)| (*page).to_owned());
    let done: BTreeSet<String> = done.collect();
    let without: Vec<_> = pages.difference(&done).collect();
    let gone: Vec<_> = done.difference(&pages).collect();
    assert!(
        without.is_empty() && gone.is_empty(),
        "pages without a deed: {without:#?}\ndeeds of pages that the router does not have: {gone:#?}"
    );
}
