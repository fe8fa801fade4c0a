//! Stored vectors, their similarity, and the merging of two rankings.

use super::search::Place;
use crate::prelude::*;

/// The constant of reciprocal rank fusion: how much less the second place counts than the first.
const RANK_BASE: f64 = 60.0;

/// Sums computed side by side.
const LANES: usize = 16;

/// A vector as signed bytes in the same direction: its largest part becomes 127. Only the direction matters for
/// similarity, so nothing else is kept.
pub(super) fn packed(vector: &[f32]) -> Vec<u8> {
    let largest = vector.iter().fold(0_f32, |most, part| most.max(part.abs()));
    let scale = if largest > 0.0 { 127.0 / largest } else { 0.0 };
    vector
        .iter()
        .map(|part| ((part * scale).round() as i8).cast_unsigned())
        .collect()
}

/// A question's vector, scaled to length one.
pub(super) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|part| part * part).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|part| *part /= length);
    }
    vector
}

/// The cosine of the angle between a question's vector and a stored one.
pub(super) fn cosine(question: &[f32], stored: &[u8]) -> f32 {
    // Independent sums, so that one instruction computes several.
    let mut products = [0_f32; LANES];
    let mut squares = [0_i32; LANES];
    for (parts, bytes) in question.chunks(LANES).zip(stored.chunks(LANES)) {
        let lanes = products.iter_mut().zip(&mut squares);
        for ((product, square), (part, byte)) in lanes.zip(parts.iter().zip(bytes)) {
            let other = byte.cast_signed();
            *product += part * f32::from(other);
            *square += i32::from(other) * i32::from(other);
        }
    }
    let square = squares.iter().sum::<i32>() as f32;
    if square > 0.0 {
        products.iter().sum::<f32>() / square.sqrt()
    } else {
        0.0
    }
}

/// Merges two rankings: a passage counts by its places in both (reciprocal rank fusion).
pub(super) fn fused(orders: [&[(Place, f64)]; 2]) -> Vec<(Place, f64)> {
    let mut scores: HashMap<Place, f64> = HashMap::new();
    for order in orders {
        for (rank, (place, _)) in (1_u32..).zip(order) {
            *scores.entry(*place).or_default() += 1.0 / (RANK_BASE + f64::from(rank));
        }
    }
    best_first(scores.into_iter().collect())
}

/// Best first; among equals the older document, then the earlier passage.
pub(super) fn best_first(mut ranked: Vec<(Place, f64)>) -> Vec<(Place, f64)> {
    ranked.sort_by(|(a, left), (b, right)| right.total_cmp(left).then(a.cmp(b)));
    ranked
}

#[cfg(test)]
mod tests {
    use offhook_domain::DocumentId;
    use proptest::prelude::*;

    use super::*;

    fn place(number: i32) -> Place {
        (DocumentId::nil(), number)
    }

    #[test]
    fn a_passage_that_both_orders_have_goes_before_those_that_one_has() {
        let words = [(place(1), 9.0), (place(2), 8.0), (place(3), 1.0)];
        let meaning = [(place(4), 0.9), (place(3), 0.8), (place(5), 0.1)];
        let fused = fused([&words, &meaning]);
        let order: Vec<i32> = fused.iter().map(|((_, number), _)| *number).collect();
        assert_eq!(order, [3, 1, 4, 2, 5]);
        assert!((fused[0].1 - (1.0 / 63.0 + 1.0 / 62.0)).abs() < 1e-12);
        assert!((fused[1].1 - 1.0 / 61.0).abs() < 1e-12);
    }

    #[test]
    fn what_points_one_way_is_alike_however_long_it_is() {
        let question = unit(vec![3.0, 4.0]);
        assert!((cosine(&question, &packed(&[0.3, 0.4])) - 1.0).abs() < 1e-3);
        assert!((cosine(&question, &packed(&[-300.0, -400.0])) + 1.0).abs() < 1e-3);
        assert!(cosine(&question, &packed(&[4.0, -3.0])).abs() < 0.02);
        assert!(cosine(&question, &packed(&[0.0, 0.0])).abs() < f32::EPSILON);
        assert_eq!(unit(vec![0.0]), [0.0]);
    }

    proptest! {
        #[test]
        fn bytes_change_the_cosine_by_little(
            pair in prop::collection::vec((-1.0_f32..1.0, -1.0_f32..1.0), 64)
        ) {
            let (a, b): (Vec<f32>, Vec<f32>) = pair.into_iter().unzip();
            prop_assume!(a.iter().chain(&b).any(|part| part.abs() > 0.1));
            let (a, b) = (unit(a), unit(b));
            let exact: f32 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
            prop_assert!((cosine(&a, &packed(&b)) - exact).abs() < 0.02);
        }
    }
}
