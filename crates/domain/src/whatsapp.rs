//! What becomes of a message on WhatsApp.

use crate::agent::vocabulary;

vocabulary! {
    /// Where a message to a customer is on its way. It leaves at most once: only `queued` ones are sent.
    SentStatus {
        /// It is to be sent.
        Queued => "queued",
        /// Its request may have left.
        Sending => "sending",
        /// Its request left, and what became of it is not known, unless WhatsApp still tells.
        Unknown => "unknown",
        /// WhatsApp has taken it over.
        Accepted => "accepted",
        /// It has left WhatsApp.
        Sent => "sent",
        /// The customer's device has it.
        Delivered => "delivered",
        /// The customer has read it.
        Read => "read",
        /// The customer will not get it.
        Failed => "failed",
    }
}

impl SentStatus {
    /// Whether news of `later` say more than this one does. They come in any order and more than once: a status never goes
    /// back, and what was delivered has not failed.
    #[must_use]
    pub const fn gives_way_to(self, later: Self) -> bool {
        match (self, later) {
            (Self::Delivered | Self::Read | Self::Failed, Self::Failed) => false,
            (_, Self::Failed) => true,
            // Told to have failed, and yet it arrived.
            (Self::Failed, Self::Delivered | Self::Read) => true,
            (Self::Failed, _) => false,
            (now, later) => (now as u8) < (later as u8),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SentStatus as S;

    #[test]
    fn a_status_never_goes_back_whatever_order_its_news_come_in() {
        let told = |news: &[S]| {
            news.iter()
                .fold(S::Accepted, |now, news| match now.gives_way_to(*news) {
                    true => *news,
                    false => now,
                })
        };
        assert_eq!(told(&[S::Sent, S::Delivered, S::Read]), S::Read);
        assert_eq!(told(&[S::Read, S::Delivered, S::Sent, S::Sent]), S::Read);
        assert_eq!(told(&[S::Failed, S::Sent]), S::Failed);
        assert_eq!(told(&[S::Sent, S::Failed, S::Failed]), S::Failed);
        assert_eq!(told(&[S::Delivered, S::Failed]), S::Delivered);
        assert_eq!(told(&[S::Failed, S::Delivered]), S::Delivered);
    }
}
