select order_id from {{ ref('orders') }} where amount is null or amount <> card_amount + coupon_amount + transfer_amount
