//! What is asked of geometric values: which is beside or within which, how long and how large they are.

use super::{EPSILON, Geometry, Point, checked};
use crate::float_order::float_cmp;
use crate::{ValueError, poll};

/// Whether a number is nearly zero.
pub fn is_zero(value: f64) -> bool {
    value.abs() <= EPSILON
}

/// Whether two numbers are nearly the same.
pub fn is_equal(a: f64, b: f64) -> bool {
    a == b || (a - b).abs() <= EPSILON
}

/// Whether one is less than the other by more than they may differ.
pub fn is_less(a: f64, b: f64) -> bool {
    a + EPSILON < b
}

/// Whether one is not greater.
pub fn is_at_most(a: f64, b: f64) -> bool {
    a <= b + EPSILON
}

/// Whether two points are nearly the same; those without a number are if they are the same.
pub fn is_same_point(a: Point, b: Point) -> bool {
    let same = |a: f64, b: f64| float_cmp(a, b).is_eq();
    if [a.x, a.y, b.x, b.y].iter().any(|number| number.is_nan()) {
        return same(a.x, b.x) && same(a.y, b.y);
    }
    is_equal(a.x, b.x) && is_equal(a.y, b.y)
}

/// By how much the line from one point to another rises; without an end where it is upright.
pub fn slope(a: Point, b: Point) -> Result<f64, ValueError> {
    if is_equal(a.x, b.x) {
        return Ok(f64::INFINITY);
    }
    if is_equal(a.y, b.y) {
        return Ok(0.0);
    }
    let (rise, run) = (checked(a.y - b.y, &[a.y, b.y])?, checked(a.x - b.x, &[a.x, b.x])?);
    checked(rise / run, &[rise])
}

/// Between two points, in the middle.
pub fn middle(a: Point, b: Point) -> Result<Point, ValueError> {
    let half = |a: f64, b: f64| checked(a + b, &[a, b]).map(|sum| sum / 2.0);
    Ok(Point::new(half(a.x, b.x)?, half(a.y, b.y)?))
}

/// Whether a point is on the straight way from one point to another.
fn is_between(point: Point, from: Point, to: Point) -> Result<bool, ValueError> {
    Ok(is_equal(point.distance(from)? + point.distance(to)?, from.distance(to)?))
}

/// From each point to the next; from the last to the first, if they close.
fn sides(points: &[Point], closed: bool) -> impl Iterator<Item = (Point, Point)> {
    let last = if closed { points.last().zip(points.first()).map(|(last, first)| (*last, *first)) } else { None };
    points.windows(2).map(|pair| (pair[0], pair[1])).chain(last)
}

/// How long the way along the points is.
pub fn length(points: &[Point], closed: bool) -> Result<f64, ValueError> {
    let mut total = 0.0;
    for (from, to) in sides(points, closed) {
        poll::step()?;
        let side = from.distance(to)?;
        total = checked(total + side, &[total, side])?;
    }
    Ok(total)
}

/// What points have between them.
pub fn area(points: &[Point]) -> Result<f64, ValueError> {
    let mut twice = 0.0;
    for (from, to) in sides(points, true) {
        poll::step()?;
        let of_side = checked(from.x * to.y, &[from.x, to.y])? - checked(from.y * to.x, &[from.y, to.x])?;
        twice = checked(twice + of_side, &[twice, of_side])?;
    }
    Ok(twice.abs() / 2.0)
}

/// The least box that has all of the points.
pub fn bounds(points: &[Point]) -> [Point; 2] {
    let first = points.first().copied().unwrap_or(Point::new(0.0, 0.0));
    points.iter().fold([first, first], |[high, low], point| {
        [Point::new(high.x.max(point.x), high.y.max(point.y)), Point::new(low.x.min(point.x), low.y.min(point.y))]
    })
}

/// The circle that PostgreSQL makes of a polygon: about the mean of its corners, as far as they are from it on average.
pub fn circle_of(points: &[Point]) -> Result<(Point, f64), ValueError> {
    let count = points.len() as f64;
    let (mut x, mut y, mut radius) = (0.0, 0.0, 0.0);
    for point in points {
        poll::step()?;
        x = checked(x + point.x, &[x, point.x])?;
        y = checked(y + point.y, &[y, point.y])?;
    }
    let center = Point::new(x / count, y / count);
    for point in points {
        let distance = point.distance(center)?;
        radius = checked(radius + distance, &[radius, distance])?;
    }
    Ok((center, radius / count))
}

/// Whether a point is within a shape, its edge being part of it.
///
/// # Errors
/// 22003 for what overflows; XX000 for a shape that contains nothing, which is a bug.
pub fn contains(shape: &Geometry, point: Point) -> Result<bool, ValueError> {
    match shape {
        Geometry::Box([high, low]) => {
            Ok(high.x >= point.x && low.x <= point.x && high.y >= point.y && low.y <= point.y)
        }
        Geometry::Circle(center, radius) => Ok(center.distance(point)? <= *radius),
        Geometry::Polygon(points) | Geometry::Path(true, points) => is_within(point, points),
        Geometry::Path(false, points) => {
            for (from, to) in sides(points, false) {
                poll::step()?;
                if is_between(point, from, to)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Geometry::Lseg([from, to]) => is_between(point, *from, *to),
        Geometry::Line([of_x, of_y, constant]) => {
            let x = checked(of_x * point.x, &[*of_x, point.x])?;
            let y = checked(of_y * point.y, &[*of_y, point.y])?;
            Ok(is_zero(checked(x + y, &[x, y])? + constant))
        }
        Geometry::Point(_) => Err(ValueError::new("XX000", "a point contains nothing")),
    }
}

/// Whether a point is within corners: how often the way around them crosses what is right of it, half a time counted once.
fn is_within(point: Point, corners: &[Point]) -> Result<bool, ValueError> {
    let mut crossed = 0;
    for (from, to) in sides(corners, true) {
        poll::step()?;
        let away = |corner: Point| Point::new(corner.x - point.x, corner.y - point.y);
        match crossing(away(to), away(from))? {
            Some(halves) => crossed += halves,
            None => return Ok(true),
        }
    }
    Ok(crossed != 0)
}

/// How often a side crosses the right half of the horizontal axis, in halves and by its direction; none if it goes through the
/// origin.
fn crossing(to: Point, from: Point) -> Result<Option<i32>, ValueError> {
    let halves = |count: i32| Ok(Some(count));
    if is_zero(to.y) {
        return if is_zero(to.x) {
            Ok(None)
        } else if is_less(0.0, to.x) {
            match (is_zero(from.y), is_less(0.0, from.x)) {
                (true, true) => halves(0),
                (true, false) => Ok(None),
                (false, _) => halves(if is_less(from.y, 0.0) { 1 } else { -1 }),
            }
        } else if is_zero(from.y) && !is_less(from.x, 0.0) {
            Ok(None)
        } else {
            halves(0)
        };
    }
    let sign = if is_less(0.0, to.y) { 1 } else { -1 };
    if is_zero(from.y) {
        return halves(if is_less(from.x, 0.0) { 0 } else { sign });
    }
    let is_on_side = |value: f64| if sign < 0 { is_less(value, 0.0) } else { is_less(0.0, value) };
    if is_on_side(from.y) {
        return halves(0);
    }
    if is_at_most(0.0, to.x) && is_less(0.0, from.x) {
        return halves(2 * sign);
    }
    if is_less(to.x, 0.0) && is_at_most(from.x, 0.0) {
        return halves(0);
    }
    let (run, rise) = (to.x - from.x, to.y - from.y);
    let z = checked(run * to.y, &[run, to.y])? - checked(rise * to.x, &[rise, to.x])?;
    if is_zero(z) {
        return Ok(None);
    }
    halves(if is_on_side(z) { 0 } else { 2 * sign })
}

/// Whether two straight ways have a point in common. Parallel ones have none, even if they lie in each other.
pub fn crosses([from, to]: [Point; 2], [other_from, other_to]: [Point; 2]) -> Result<bool, ValueError> {
    let (one, other) =
        (Geometry::through(from, slope(from, to)?)?, Geometry::through(other_from, slope(other_from, other_to)?)?);
    match meeting(one, other)? {
        Some(point) => Ok(is_between(point, from, to)? && is_between(point, other_from, other_to)?),
        None => Ok(false),
    }
}

/// Where two lines meet, if they are not parallel.
fn meeting(one: [f64; 3], other: [f64; 3]) -> Result<Option<Point>, ValueError> {
    let ([of_x, of_y, constant], [other_x, other_y, other_constant]) = (one, other);
    if is_zero(of_y) {
        return if is_zero(other_y) { Ok(None) } else { meeting(other, one) };
    }
    if is_equal(other_x, of_x * (other_y / of_y)) {
        return Ok(None);
    }
    let x = checked((of_y * other_constant - other_y * constant) / (of_x * other_y - other_x * of_y), &[])?;
    let y = checked(-(of_x * x + constant) / of_y, &[])?;
    Ok(Some(Point::new(x, y)))
}

/// Whether two lists of corners are the same, begun at whichever and gone around in either direction.
pub fn is_same_polygon(one: &[Point], other: &[Point]) -> Result<bool, ValueError> {
    let count = one.len();
    if count != other.len() {
        return Ok(false);
    }
    for start in (0..count).filter(|&start| is_same_point(one[0], other[start])) {
        poll::step()?;
        let same =
            |place: &dyn Fn(usize) -> usize| (0..count).all(|at| is_same_point(one[at], other[place(at) % count]));
        if same(&|at| start + at) || same(&|at| start + count - at) {
            return Ok(true);
        }
    }
    Ok(false)
}
