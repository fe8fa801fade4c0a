//! The statuses of WhatsApp messages.

use crate::agent::vocabulary;

vocabulary! {
    /// The status of a message to a customer. A message is sent at most once: only `queued` ones are sent.
    SentStatus {
        /// Waiting to be sent.
        Queued => "queued",
        /// The request may have been sent.
        Sending => "sending",
        /// The request was sent and its result is unknown, unless WhatsApp reports it later.
        Unknown => "unknown",
        /// WhatsApp has accepted it.
        Accepted => "accepted",
        /// WhatsApp has sent it.
        Sent => "sent",
        /// It has reached the customer's device.
        Delivered => "delivered",
        /// The customer has read it.
        Read => "read",
        /// The customer will not receive it.
        Failed => "failed",
    }
}

impl SentStatus {
    /// Returns whether the report `later` replaces this status. Reports come in any order and more than once: a status
    /// never goes back, and a delivered message has not failed.
    #[must_use]
    pub const fn gives_way_to(self, later: Self) -> bool {
        match (self, later) {
            (Self::Delivered | Self::Read | Self::Failed, Self::Failed) => false,
            (_, Self::Failed) => true,
            // Reported as failed, but it arrived after all.
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
    fn a_status_never_goes_back_whatever_the_order_of_reports() {
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
