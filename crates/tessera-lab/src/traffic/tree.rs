//! A classifier: a decision tree, which compares one number at a time with a threshold (Breiman et al., Classification
//! and Regression Trees, 1984). It uses the informative numbers and ignores the rest, however many there are, and its
//! questions are readable.

/// One flow, as numbers, and its class.
pub(crate) struct Example {
    /// As many as all other examples have.
    pub(crate) numbers: Vec<f64>,
    pub(crate) class: usize,
}

/// A tree never asks more questions in a row.
const MOST_QUESTIONS: usize = 8;
/// An answer with fewer examples is chance.
const SMALLEST_LEAF: usize = 2;

/// A tree, or a part of one.
#[derive(Debug, PartialEq)]
pub(crate) enum Tree {
    Answer(usize),
    Question { asks: Question, no: Box<Tree>, yes: Box<Tree> },
}

/// Whether a number is above a threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Question {
    /// Which of the numbers.
    pub(crate) number: usize,
    pub(crate) above: f64,
}

impl Question {
    fn is_yes(self, example: &[f64]) -> bool {
        example.get(self.number).is_some_and(|number| *number > self.above)
    }
}

impl Tree {
    /// Grows a tree on examples of this many classes. The same examples yield the same tree; of equally good questions
    /// it takes the first.
    pub(crate) fn grow(examples: &[&Example], classes: usize) -> Self {
        Self::grow_to(examples, classes, MOST_QUESTIONS)
    }

    fn grow_to(examples: &[&Example], classes: usize, questions: usize) -> Self {
        let question = if questions == 0 { None } else { best_question(examples, classes) };
        let Some(asks) = question else {
            return Self::Answer(most_frequent(&counts(examples, classes)));
        };
        let (yes, no): (Vec<_>, Vec<_>) =
            examples.iter().copied().partition(|example| asks.is_yes(&example.numbers));
        let grow = |part: &[&Example]| Box::new(Self::grow_to(part, classes, questions - 1));
        Self::Question { asks, no: grow(&no), yes: grow(&yes) }
    }

    /// Returns the class of these numbers.
    pub(crate) fn classify(&self, numbers: &[f64]) -> usize {
        match self {
            Self::Answer(class) => *class,
            Self::Question { asks, no, yes } => {
                if asks.is_yes(numbers) {
                    yes.classify(numbers)
                } else {
                    no.classify(numbers)
                }
            }
        }
    }

    /// Returns its first question.
    pub(crate) fn first_question(&self) -> Option<Question> {
        match self {
            Self::Answer(_) => None,
            Self::Question { asks, .. } => Some(*asks),
        }
    }
}

/// Returns the question whose answers are the least mixed; `None` if none makes them less mixed than they are.
fn best_question(examples: &[&Example], classes: usize) -> Option<Question> {
    let numbers = examples.first().map_or(0, |example| example.numbers.len());
    let all = counts(examples, classes);
    // Rounding must not pass for a gain.
    let mut least = mixture(&all, examples.len()) - 1e-9;
    let mut best = None;
    for number in 0..numbers {
        let mut sorted = examples.to_vec();
        sorted.sort_by(|a, b| a.numbers[number].total_cmp(&b.numbers[number]));
        let mut below = vec![0; classes];
        for (index, pair) in sorted.windows(2).enumerate() {
            below[pair[0].class] += 1;
            let (low, high) = (pair[0].numbers[number], pair[1].numbers[number]);
            let (no, yes) = (index + 1, sorted.len() - index - 1);
            if low == high || no.min(yes) < SMALLEST_LEAF {
                continue;
            }
            let above: Vec<_> = all.iter().zip(&below).map(|(all, below)| all - below).collect();
            let mixed = mixture(&below, no) + mixture(&above, yes);
            if mixed < least {
                least = mixed;
                best = Some(Question { number, above: f64::midpoint(low, high) });
            }
        }
    }
    best
}

fn counts(examples: &[&Example], classes: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    for example in examples {
        counts[example.class] += 1;
    }
    counts
}

/// Gini's measure times the number of examples: none if all are of one class.
fn mixture(counts: &[usize], examples: usize) -> f64 {
    let squares: f64 = counts.iter().map(|count| (*count as f64).powi(2)).sum();
    examples as f64 - squares / (examples as f64).max(1.0)
}

/// Returns the first of the most frequent classes.
pub(crate) fn most_frequent(counts: &[usize]) -> usize {
    let most = counts.iter().max().copied().unwrap_or(0);
    counts.iter().position(|count| *count == most).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(numbers: &[f64], class: usize) -> Example {
        Example { numbers: numbers.to_vec(), class }
    }

    fn grow(examples: &[Example], classes: usize) -> Tree {
        Tree::grow(&examples.iter().collect::<Vec<_>>(), classes)
    }

    #[test]
    fn a_tree_finds_the_distinguishing_number_and_ignores_the_others() {
        let examples: Vec<_> = (0..20)
            .map(|n| example(&[f64::from(n % 3), f64::from(n), 5.0], usize::from(n >= 8)))
            .collect();
        let tree = grow(&examples, 2);
        assert_eq!(tree.first_question(), Some(Question { number: 1, above: 7.5 }));
        assert_eq!(tree.classify(&[0.0, 7.0, 5.0]), 0);
        assert_eq!(tree.classify(&[0.0, 8.0, 5.0]), 1);
        let Tree::Question { no, yes, .. } = tree else { panic!("a question") };
        assert_eq!((*no, *yes), (Tree::Answer(0), Tree::Answer(1)), "and asks no more");
    }

    /// No single number decides: the class depends on which of four corners it is.
    #[test]
    fn a_tree_asks_further_where_one_question_is_not_enough() {
        let corners = [(0.0, 0.0, 0), (0.0, 9.0, 1), (9.0, 0.0, 2), (9.0, 9.0, 3)];
        let examples: Vec<_> = (0..3)
            .flat_map(|n| corners.map(|(x, y, class)| example(&[x + f64::from(n), y], class)))
            .collect();
        let tree = grow(&examples, 4);
        for (x, y, class) in corners {
            assert_eq!(tree.classify(&[x, y]), class);
        }
    }

    #[test]
    fn a_tree_asks_nothing_where_no_number_distinguishes() {
        let same: Vec<_> = (0..9).map(|n| example(&[1.0], usize::from(n % 3 == 0))).collect();
        assert_eq!(grow(&same, 2), Tree::Answer(0));
        assert_eq!(grow(&[], 2), Tree::Answer(0));
        // A single example is no answer.
        let one: Vec<_> = (0..9).map(|n| example(&[f64::from(n)], usize::from(n == 8))).collect();
        let tree = grow(&one[6..], 2);
        assert_eq!(tree, Tree::Answer(0));
    }
}
