//! A line diff of two texts.

/// The most pairs of lines to compare, besides common lines at the start and end: larger texts are shown as replaced in
/// between.
const MOST: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Kept,
    Removed,
    Added,
}

/// The lines of both texts: those of the second, with the removed lines of the first where they were.
pub(crate) fn diff<'a>(before: &'a str, after: &'a str) -> Vec<(Change, &'a str)> {
    let [before, after] =
        [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let alike = |(one, other): &(&&str, &&str)| one == other;
    let head = before.iter().zip(&after).take_while(alike).count();
    let behind = before[head..].iter().rev().zip(after[head..].iter().rev());
    let tail = behind.take_while(alike).count();
    let old = &before[head..before.len() - tail];
    let new = &after[head..after.len() - tail];
    let mut lines: Vec<_> = after[..head]
        .iter()
        .map(|line| (Change::Kept, *line))
        .collect();
    let (mut at, mut to) = (0, 0);
    let common = common(old, new);
    while at < old.len() || to < new.len() {
        let of = |at, to| common.get(at * (new.len() + 1) + to).copied().unwrap_or(0);
        let (change, line) = match (old.get(at), new.get(to)) {
            (Some(one), Some(other)) if one == other && !common.is_empty() => (Change::Kept, other),
            (Some(line), None) => (Change::Removed, line),
            (Some(line), _) if of(at + 1, to) >= of(at, to + 1) => (Change::Removed, line),
            (_, Some(line)) => (Change::Added, line),
            (_, None) => break,
        };
        at += usize::from(change != Change::Added);
        to += usize::from(change != Change::Removed);
        lines.push((change, line));
    }
    lines.extend(
        after[after.len() - tail..]
            .iter()
            .map(|line| (Change::Kept, *line)),
    );
    lines
}

/// How many lines two texts have in common from each pair of lines on; empty if there are too many pairs.
fn common(old: &[&str], new: &[&str]) -> Vec<u32> {
    if old.len().saturating_mul(new.len()) > MOST {
        return Vec::new();
    }
    let width = new.len() + 1;
    let mut common = vec![0; (old.len() + 1) * width];
    for at in (0..old.len()).rev() {
        for to in (0..new.len()).rev() {
            let below = (at + 1) * width + to;
            common[at * width + to] = match old[at] == new[to] {
                true => common[below + 1] + 1,
                false => common[below].max(common[at * width + to + 1]),
            };
        }
    }
    common
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        let sign = |change| match change {
            Change::Kept => ' ',
            Change::Removed => '-',
            Change::Added => '+',
        };
        let lines = diff(before, after).into_iter();
        lines
            .map(|(change, line)| format!("{}{}", sign(change), line.trim_end()))
            .collect()
    }

    #[test]
    fn lines_are_kept_removed_and_added() {
        assert_eq!(shown("", ""), "");
        assert_eq!(shown("a\nb\n", "a\nb\n"), " a b");
        assert_eq!(shown("", "a\nb"), "+a+b");
        assert_eq!(shown("a\nb", ""), "-a-b");
        assert_eq!(shown("a\nb\nc\nd\n", "a\nx\nc\ny\nd\n"), " a-b+x c+y d");
        assert_eq!(shown("a\nb\na\n", "a\n"), " a-b-a");
        assert_eq!(shown("a", "a\n"), "-a+a", "the end of the last line counts");
        let long = |line: &str| format!("a\n{}z\n", line.repeat(3_000));
        let lines = diff(&long("b\n"), &long("c\n")).len();
        assert_eq!(lines, 6_002);
    }
}
