//! Credits and prices.

use std::fmt;

use serde::{Serialize, Serializer};

/// A whole number of credits; negative for a debit.
pub type Credits = i64;

/// A price in thousandths of a credit per minute, so that sums and settlements are exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Price(i64);

impl Price {
    /// Creates a price from thousandths of a credit per minute; negative ones become zero.
    #[must_use]
    pub const fn from_millicredits_per_minute(millicredits: i64) -> Self {
        Self(if millicredits < 0 { 0 } else { millicredits })
    }

    /// Returns the thousandths of a credit per minute.
    #[must_use]
    pub const fn millicredits_per_minute(self) -> i64 {
        self.0
    }

    /// Returns the sum of both prices.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the cost of `seconds`: ceil(seconds × price / 60). Negative seconds cost nothing.
    #[must_use]
    pub const fn of_seconds(self, seconds: i64) -> Credits {
        if seconds <= 0 {
            return 0;
        }
        let exact = self.0.saturating_mul(seconds);
        let unit = 60_000;
        exact / unit + (exact % unit != 0) as i64
    }
}

/// The seconds of model time that one written answer is billed as.
pub const ANSWER_SECONDS: i64 = 15;

impl Price {
    /// Returns the cost of `answers` written answers: the price of a minute buys four, however long the customer takes
    /// in between.
    #[must_use]
    pub const fn of_answers(self, answers: i64) -> Credits {
        self.of_seconds(answers.saturating_mul(ANSWER_SECONDS))
    }
}

impl fmt::Display for Price {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

/// Serialized as a JSON number of credits per minute.
impl Serialize for Price {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0 % 1_000 == 0 {
            serializer.serialize_i64(self.0 / 1_000)
        } else {
            #[expect(clippy::cast_precision_loss, reason = "prices are far below 2^53")]
            serializer.serialize_f64(self.0 as f64 / 1_000.0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_started_fraction_of_a_credit_is_charged_whole() {
        let price = Price::from_millicredits_per_minute(1_500);
        let cases = [
            (0, 0),
            (-5, 0),
            (1, 1),
            (40, 1),
            (41, 2),
            (60, 2),
            (80, 2),
            (81, 3),
            (600, 15),
        ];
        for (seconds, credits) in cases {
            assert_eq!(price.of_seconds(seconds), credits, "{seconds} s");
        }
        assert_eq!(Price::default().of_seconds(3_600), 0);
    }

    #[test]
    fn four_answers_cost_a_minute() {
        let price = Price::from_millicredits_per_minute(1_500);
        for (answers, credits) in [
            (-1, 0),
            (0, 0),
            (1, 1),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 2),
            (6, 3),
        ] {
            assert_eq!(price.of_answers(answers), credits, "{answers} answers");
        }
    }
}
