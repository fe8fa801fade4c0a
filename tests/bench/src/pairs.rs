//! Compares two things on a noisy machine: A B A B …, and the median of the pairs' ratios.

/// The result of comparing A with B.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Paired {
    /// The median of A / B over the rounds.
    pub(crate) ratio: f64,
    /// The median of A.
    pub(crate) a: f64,
    /// The median of B.
    pub(crate) b: f64,
}

/// Measures A and B alternately, in `rounds` rounds after one uncounted warm-up round.
pub(crate) async fn compare(
    rounds: usize,
    mut a: impl AsyncFnMut() -> anyhow::Result<f64>,
    mut b: impl AsyncFnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Paired> {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        // The first of a pair finds a warmer or colder machine, so A and B take turns.
        let (of_this_a, of_this_b) = if round % 2 == 0 {
            let first = a().await?;
            (first, b().await?)
        } else {
            let first = b().await?;
            (a().await?, first)
        };
        if round > 0 {
            of_a.push(of_this_a);
            of_b.push(of_this_b);
        }
    }
    let ratios = of_a.iter().zip(&of_b).map(|(a, b)| a / b).collect();
    Ok(Paired {
        ratio: median(ratios),
        a: median(of_a),
        b: median(of_b),
    })
}

/// The middle value; 0 for an empty list.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The value that this share of the sorted values does not exceed; 0 for an empty list.
pub(crate) fn percentile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    sorted
        .get((last as f64 * share).round() as usize)
        .copied()
        .unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_value_and_percentiles_are_values_that_were_measured() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        let sorted: Vec<f64> = (0..=100).map(f64::from).collect();
        assert!((percentile(&sorted, 0.99) - 99.0).abs() < f64::EPSILON);
        assert!(percentile(&[], 0.5).abs() < f64::EPSILON);
    }
}
