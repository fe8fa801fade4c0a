//! The numbers of a call.

use crate::prelude::*;

/// Stands for the numbers of a web page's call, which has none. Its line is open already, and uses neither.
pub(crate) const NO_NUMBER: &str = "+10000000";

/// The caller's and the called number. A withheld caller number is replaced by the called one: the line is open
/// already, so it is not dialed.
pub(crate) fn numbers(call: &Conversation) -> Option<(E164, E164)> {
    if call.is_of_a_page() {
        let nobody: E164 = NO_NUMBER.parse().ok()?;
        return Some((nobody.clone(), nobody));
    }
    let to = call.to_number.clone()?;
    let from = call.from_number.clone();
    let from = from.or_else(|| call.is_inbound().then(|| to.clone()))?;
    Some((from, to))
}
