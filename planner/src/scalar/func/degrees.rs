//! Trigonometry of degrees: exact where the mathematics is, by PostgreSQL's formulas.

use super::arguments::float;
use super::math::{bounded, out_of_domain};
use super::{FunctionDefinition, strict};
use crate::scalar::Answer;
use repr::Datum;

/// From 0 to 30 degrees; exact at both ends.
fn small_sine(degrees: f64) -> f64 {
    (degrees.to_radians().sin() / 30f64.to_radians().sin()) / 2.0
}

/// From 0 to 60 degrees; exact at both ends.
fn small_cosine(degrees: f64) -> f64 {
    1.0 - ((1.0 - degrees.to_radians().cos()) / (1.0 - 60f64.to_radians().cos())) / 2.0
}

/// From 0 to 90 degrees.
fn first_sine(degrees: f64) -> f64 {
    if degrees <= 30.0 { small_sine(degrees) } else { small_cosine(90.0 - degrees) }
}

/// From 0 to 90 degrees.
fn first_cosine(degrees: f64) -> f64 {
    if degrees <= 60.0 { small_cosine(degrees) } else { small_sine(90.0 - degrees) }
}

fn sine(value: f64) -> f64 {
    let turned = value % 360.0;
    let (sign, angle) = if turned < 0.0 { (-1.0, -turned) } else { (1.0, turned) };
    let (sign, angle) = if angle > 180.0 { (-sign, 360.0 - angle) } else { (sign, angle) };
    sign * first_sine(if angle > 90.0 { 180.0 - angle } else { angle })
}

fn cosine(value: f64) -> f64 {
    let angle = (value % 360.0).abs();
    let angle = if angle > 180.0 { 360.0 - angle } else { angle };
    if angle > 90.0 { -first_cosine(180.0 - angle) } else { first_cosine(angle) }
}

/// The sign of a tangent, and an angle from 0 to 90 degrees that has it.
fn first_quadrant(value: f64) -> (f64, f64) {
    let turned = value % 360.0;
    let (sign, angle) = if turned < 0.0 { (-1.0, -turned) } else { (1.0, turned) };
    let (sign, angle) = if angle > 180.0 { (-sign, 360.0 - angle) } else { (sign, angle) };
    if angle > 90.0 { (-sign, 180.0 - angle) } else { (sign, angle) }
}

/// No zero has a sign.
fn unsigned_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

fn tangent(value: f64) -> f64 {
    let (sign, angle) = first_quadrant(value);
    let unit = first_sine(45.0) / first_cosine(45.0);
    unsigned_zero(sign * ((first_sine(angle) / first_cosine(angle)) / unit))
}

fn cotangent(value: f64) -> f64 {
    let (sign, angle) = first_quadrant(value);
    let unit = first_cosine(45.0) / first_sine(45.0);
    unsigned_zero(sign * ((first_cosine(angle) / first_sine(angle)) / unit))
}

/// From 0 to 1.
fn first_arc_sine(value: f64) -> f64 {
    if value <= 0.5 { value.asin() / 0.5f64.asin() * 30.0 } else { 90.0 - value.acos() / 0.5f64.acos() * 60.0 }
}

/// From 0 to 1.
fn first_arc_cosine(value: f64) -> f64 {
    if value <= 0.5 { 90.0 - value.asin() / 0.5f64.asin() * 30.0 } else { value.acos() / 0.5f64.acos() * 60.0 }
}

fn arc_sine(value: f64) -> f64 {
    if value < 0.0 { -first_arc_sine(-value) } else { first_arc_sine(value) }
}

fn arc_cosine(value: f64) -> f64 {
    if value < 0.0 { 90.0 + first_arc_sine(-value) } else { first_arc_cosine(value) }
}

fn degrees(arc: f64) -> f64 {
    arc / 1f64.atan() * 45.0
}

/// Of any finite angle; what is infinite in the end is no error.
fn of_angle(arg: &Datum, function: fn(f64) -> f64) -> Answer {
    let value = float(arg)?;
    if value.is_infinite() { Err(out_of_domain()) } else { Ok(Datum::Float8(function(value))) }
}

pub(super) const FUNCTIONS: &[FunctionDefinition] = &[
    strict("sind(float8) float8", |_, a, _| of_angle(&a[0], sine)),
    strict("cosd(float8) float8", |_, a, _| of_angle(&a[0], cosine)),
    strict("tand(float8) float8", |_, a, _| of_angle(&a[0], tangent)),
    strict("cotd(float8) float8", |_, a, _| of_angle(&a[0], cotangent)),
    strict("asind(float8) float8", |_, a, _| bounded(&a[0], -1.0, 1.0, arc_sine)),
    strict("acosd(float8) float8", |_, a, _| bounded(&a[0], -1.0, 1.0, arc_cosine)),
    strict("atand(float8) float8", |_, a, _| Ok(Datum::Float8(degrees(float(&a[0])?.atan())))),
    strict("atan2d(float8, float8) float8", |_, a, _| Ok(Datum::Float8(degrees(float(&a[0])?.atan2(float(&a[1])?))))),
];
