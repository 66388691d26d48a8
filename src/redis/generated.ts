// biome-ignore-all lint/suspicious/noExplicitAny: each function is of the type that its table gives it
// Functions that follow from tables of fields. Written by `npm run -s proofs -- order-formats`; a test compares them.

export const GENERATED: Readonly<Record<string, (...used: any[]) => any>> = {
  CANCELLING_CALL: ({ epoch, minSequence, marketNumber, basePerStep, quotePerLot, maxOrders, rules }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = epoch.write(bytes, at, record.epoch);
      at = minSequence.write(bytes, at, record.minSequence);
      at = marketNumber.write(bytes, at, record.marketNumber);
      at = basePerStep.write(bytes, at, record.basePerStep);
      at = quotePerLot.write(bytes, at, record.quotePerLot);
      at = maxOrders.write(bytes, at, record.maxOrders);
      at = rules.write(bytes, at, record.rules);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const epochValue = epoch.read(bytes, at);
      at += epoch.sizeAt(bytes, at);
      const minSequenceValue = minSequence.read(bytes, at);
      at += minSequence.sizeAt(bytes, at);
      const marketNumberValue = marketNumber.read(bytes, at);
      at += marketNumber.sizeAt(bytes, at);
      const basePerStepValue = basePerStep.read(bytes, at);
      at += basePerStep.sizeAt(bytes, at);
      const quotePerLotValue = quotePerLot.read(bytes, at);
      at += quotePerLot.sizeAt(bytes, at);
      const maxOrdersValue = maxOrders.read(bytes, at);
      at += maxOrders.sizeAt(bytes, at);
      const rulesValue = rules.read(bytes, at);
      at += rules.sizeAt(bytes, at);
      return {
        epoch: epochValue,
        minSequence: minSequenceValue,
        marketNumber: marketNumberValue,
        basePerStep: basePerStepValue,
        quotePerLot: quotePerLotValue,
        maxOrders: maxOrdersValue,
        rules: rulesValue,
      };
    },
  }),
  CANCELLING_REQUEST: ({ any, owner, cause, references }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = any.write(bytes, at, record.any);
      at = owner.write(bytes, at, record.owner);
      at = cause.write(bytes, at, record.cause);
      at = references.write(bytes, at, record.references);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const anyValue = any.read(bytes, at);
      at += any.sizeAt(bytes, at);
      const ownerValue = owner.read(bytes, at);
      at += owner.sizeAt(bytes, at);
      const causeValue = cause.read(bytes, at);
      at += cause.sizeAt(bytes, at);
      const referencesValue = references.read(bytes, at);
      at += references.sizeAt(bytes, at);
      return {
        any: anyValue,
        owner: ownerValue,
        cause: causeValue,
        references: referencesValue,
      };
    },
  }),
  HEAD: ({ kind, time }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = kind.write(bytes, at, record.kind);
      at = time.write(bytes, at, record.time);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const kindValue = kind.read(bytes, at);
      at += kind.sizeAt(bytes, at);
      const timeValue = time.read(bytes, at);
      at += time.sizeAt(bytes, at);
      return {
        kind: kindValue,
        time: timeValue,
      };
    },
  }),
  MATCH: ({ status, reason, size, filled, firstTrade }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = status.write(bytes, at, record.status);
      at = reason.write(bytes, at, record.reason);
      at = size.write(bytes, at, record.size);
      at = filled.write(bytes, at, record.filled);
      at = firstTrade.write(bytes, at, record.firstTrade);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const statusValue = status.read(bytes, at);
      at += status.sizeAt(bytes, at);
      const reasonValue = reason.read(bytes, at);
      at += reason.sizeAt(bytes, at);
      const sizeValue = size.read(bytes, at);
      at += size.sizeAt(bytes, at);
      const filledValue = filled.read(bytes, at);
      at += filled.sizeAt(bytes, at);
      const firstTradeValue = firstTrade.read(bytes, at);
      at += firstTrade.sizeAt(bytes, at);
      return {
        status: statusValue,
        reason: reasonValue,
        size: sizeValue,
        filled: filledValue,
        firstTrade: firstTradeValue,
      };
    },
  }),
  ORDER_PLACED: ({ status, reason, size, filled, firstTrade, fills, wallet, market, side, type, timeInForce, postOnly, leverage, priceTicks, clientOrderId }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = status.write(bytes, at, record.status);
      at = reason.write(bytes, at, record.reason);
      at = size.write(bytes, at, record.size);
      at = filled.write(bytes, at, record.filled);
      at = firstTrade.write(bytes, at, record.firstTrade);
      at = fills.write(bytes, at, record.fills);
      at = wallet.write(bytes, at, record.wallet);
      at = market.write(bytes, at, record.market);
      at = side.write(bytes, at, record.side);
      at = type.write(bytes, at, record.type);
      at = timeInForce.write(bytes, at, record.timeInForce);
      at = postOnly.write(bytes, at, record.postOnly);
      at = leverage.write(bytes, at, record.leverage);
      at = priceTicks.write(bytes, at, record.priceTicks);
      at = clientOrderId.write(bytes, at, record.clientOrderId);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const statusValue = status.read(bytes, at);
      at += status.sizeAt(bytes, at);
      const reasonValue = reason.read(bytes, at);
      at += reason.sizeAt(bytes, at);
      const sizeValue = size.read(bytes, at);
      at += size.sizeAt(bytes, at);
      const filledValue = filled.read(bytes, at);
      at += filled.sizeAt(bytes, at);
      const firstTradeValue = firstTrade.read(bytes, at);
      at += firstTrade.sizeAt(bytes, at);
      const fillsValue = fills.read(bytes, at);
      at += fills.sizeAt(bytes, at);
      const walletValue = wallet.read(bytes, at);
      at += wallet.sizeAt(bytes, at);
      const marketValue = market.read(bytes, at);
      at += market.sizeAt(bytes, at);
      const sideValue = side.read(bytes, at);
      at += side.sizeAt(bytes, at);
      const typeValue = type.read(bytes, at);
      at += type.sizeAt(bytes, at);
      const timeInForceValue = timeInForce.read(bytes, at);
      at += timeInForce.sizeAt(bytes, at);
      const postOnlyValue = postOnly.read(bytes, at);
      at += postOnly.sizeAt(bytes, at);
      const leverageValue = leverage.read(bytes, at);
      at += leverage.sizeAt(bytes, at);
      const priceTicksValue = priceTicks.read(bytes, at);
      at += priceTicks.sizeAt(bytes, at);
      const clientOrderIdValue = clientOrderId.read(bytes, at);
      at += clientOrderId.sizeAt(bytes, at);
      return {
        status: statusValue,
        reason: reasonValue,
        size: sizeValue,
        filled: filledValue,
        firstTrade: firstTradeValue,
        fills: fillsValue,
        wallet: walletValue,
        market: marketValue,
        side: sideValue,
        type: typeValue,
        timeInForce: timeInForceValue,
        postOnly: postOnlyValue,
        leverage: leverageValue,
        priceTicks: priceTicksValue,
        clientOrderId: clientOrderIdValue,
      };
    },
  }),
  PLACED: ({ outcome, sequence, status, reason, size, filled, firstTrade }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = outcome.write(bytes, at, record.outcome);
      at = sequence.write(bytes, at, record.sequence);
      at = status.write(bytes, at, record.status);
      at = reason.write(bytes, at, record.reason);
      at = size.write(bytes, at, record.size);
      at = filled.write(bytes, at, record.filled);
      at = firstTrade.write(bytes, at, record.firstTrade);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const outcomeValue = outcome.read(bytes, at);
      at += outcome.sizeAt(bytes, at);
      const sequenceValue = sequence.read(bytes, at);
      at += sequence.sizeAt(bytes, at);
      const statusValue = status.read(bytes, at);
      at += status.sizeAt(bytes, at);
      const reasonValue = reason.read(bytes, at);
      at += reason.sizeAt(bytes, at);
      const sizeValue = size.read(bytes, at);
      at += size.sizeAt(bytes, at);
      const filledValue = filled.read(bytes, at);
      at += filled.sizeAt(bytes, at);
      const firstTradeValue = firstTrade.read(bytes, at);
      at += firstTrade.sizeAt(bytes, at);
      return {
        outcome: outcomeValue,
        sequence: sequenceValue,
        status: statusValue,
        reason: reasonValue,
        size: sizeValue,
        filled: filledValue,
        firstTrade: firstTradeValue,
      };
    },
  }),
  PLACING_CALL: ({ epoch, minSequence, marketNumber, basePerStep, quotePerLot, feeBps, selfTrade, minSteps, maxSteps, hasReference, preOpen, maxMakers, maxMakersOfCall, maxLive, rules, layout }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = epoch.write(bytes, at, record.epoch);
      at = minSequence.write(bytes, at, record.minSequence);
      at = marketNumber.write(bytes, at, record.marketNumber);
      at = basePerStep.write(bytes, at, record.basePerStep);
      at = quotePerLot.write(bytes, at, record.quotePerLot);
      at = feeBps.write(bytes, at, record.feeBps);
      at = selfTrade.write(bytes, at, record.selfTrade);
      at = minSteps.write(bytes, at, record.minSteps);
      at = maxSteps.write(bytes, at, record.maxSteps);
      at = hasReference.write(bytes, at, record.hasReference);
      at = preOpen.write(bytes, at, record.preOpen);
      at = maxMakers.write(bytes, at, record.maxMakers);
      at = maxMakersOfCall.write(bytes, at, record.maxMakersOfCall);
      at = maxLive.write(bytes, at, record.maxLive);
      at = rules.write(bytes, at, record.rules);
      at = layout.write(bytes, at, record.layout);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const epochValue = epoch.read(bytes, at);
      at += epoch.sizeAt(bytes, at);
      const minSequenceValue = minSequence.read(bytes, at);
      at += minSequence.sizeAt(bytes, at);
      const marketNumberValue = marketNumber.read(bytes, at);
      at += marketNumber.sizeAt(bytes, at);
      const basePerStepValue = basePerStep.read(bytes, at);
      at += basePerStep.sizeAt(bytes, at);
      const quotePerLotValue = quotePerLot.read(bytes, at);
      at += quotePerLot.sizeAt(bytes, at);
      const feeBpsValue = feeBps.read(bytes, at);
      at += feeBps.sizeAt(bytes, at);
      const selfTradeValue = selfTrade.read(bytes, at);
      at += selfTrade.sizeAt(bytes, at);
      const minStepsValue = minSteps.read(bytes, at);
      at += minSteps.sizeAt(bytes, at);
      const maxStepsValue = maxSteps.read(bytes, at);
      at += maxSteps.sizeAt(bytes, at);
      const hasReferenceValue = hasReference.read(bytes, at);
      at += hasReference.sizeAt(bytes, at);
      const preOpenValue = preOpen.read(bytes, at);
      at += preOpen.sizeAt(bytes, at);
      const maxMakersValue = maxMakers.read(bytes, at);
      at += maxMakers.sizeAt(bytes, at);
      const maxMakersOfCallValue = maxMakersOfCall.read(bytes, at);
      at += maxMakersOfCall.sizeAt(bytes, at);
      const maxLiveValue = maxLive.read(bytes, at);
      at += maxLive.sizeAt(bytes, at);
      const rulesValue = rules.read(bytes, at);
      at += rules.sizeAt(bytes, at);
      const layoutValue = layout.read(bytes, at);
      at += layout.sizeAt(bytes, at);
      return {
        epoch: epochValue,
        minSequence: minSequenceValue,
        marketNumber: marketNumberValue,
        basePerStep: basePerStepValue,
        quotePerLot: quotePerLotValue,
        feeBps: feeBpsValue,
        selfTrade: selfTradeValue,
        minSteps: minStepsValue,
        maxSteps: maxStepsValue,
        hasReference: hasReferenceValue,
        preOpen: preOpenValue,
        maxMakers: maxMakersValue,
        maxMakersOfCall: maxMakersOfCallValue,
        maxLive: maxLiveValue,
        rules: rulesValue,
        layout: layoutValue,
      };
    },
  }),
  PLACING_ORDER: ({ wallet, market, side, type, timeInForce, postOnly, leverage, priceTicks, clientOrderId, amount, restricted, expiresAfter, checkedAt, filter, mask, digest, first, last, replaces }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = wallet.write(bytes, at, record.wallet);
      at = market.write(bytes, at, record.market);
      at = side.write(bytes, at, record.side);
      at = type.write(bytes, at, record.type);
      at = timeInForce.write(bytes, at, record.timeInForce);
      at = postOnly.write(bytes, at, record.postOnly);
      at = leverage.write(bytes, at, record.leverage);
      at = priceTicks.write(bytes, at, record.priceTicks);
      at = clientOrderId.write(bytes, at, record.clientOrderId);
      at = amount.write(bytes, at, record.amount);
      at = restricted.write(bytes, at, record.restricted);
      at = expiresAfter.write(bytes, at, record.expiresAfter);
      at = checkedAt.write(bytes, at, record.checkedAt);
      at = filter.write(bytes, at, record.filter);
      at = mask.write(bytes, at, record.mask);
      at = digest.write(bytes, at, record.digest);
      at = first.write(bytes, at, record.first);
      at = last.write(bytes, at, record.last);
      at = replaces.write(bytes, at, record.replaces);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const walletValue = wallet.read(bytes, at);
      at += wallet.sizeAt(bytes, at);
      const marketValue = market.read(bytes, at);
      at += market.sizeAt(bytes, at);
      const sideValue = side.read(bytes, at);
      at += side.sizeAt(bytes, at);
      const typeValue = type.read(bytes, at);
      at += type.sizeAt(bytes, at);
      const timeInForceValue = timeInForce.read(bytes, at);
      at += timeInForce.sizeAt(bytes, at);
      const postOnlyValue = postOnly.read(bytes, at);
      at += postOnly.sizeAt(bytes, at);
      const leverageValue = leverage.read(bytes, at);
      at += leverage.sizeAt(bytes, at);
      const priceTicksValue = priceTicks.read(bytes, at);
      at += priceTicks.sizeAt(bytes, at);
      const clientOrderIdValue = clientOrderId.read(bytes, at);
      at += clientOrderId.sizeAt(bytes, at);
      const amountValue = amount.read(bytes, at);
      at += amount.sizeAt(bytes, at);
      const restrictedValue = restricted.read(bytes, at);
      at += restricted.sizeAt(bytes, at);
      const expiresAfterValue = expiresAfter.read(bytes, at);
      at += expiresAfter.sizeAt(bytes, at);
      const checkedAtValue = checkedAt.read(bytes, at);
      at += checkedAt.sizeAt(bytes, at);
      const filterValue = filter.read(bytes, at);
      at += filter.sizeAt(bytes, at);
      const maskValue = mask.read(bytes, at);
      at += mask.sizeAt(bytes, at);
      const digestValue = digest.read(bytes, at);
      at += digest.sizeAt(bytes, at);
      const firstValue = first.read(bytes, at);
      at += first.sizeAt(bytes, at);
      const lastValue = last.read(bytes, at);
      at += last.sizeAt(bytes, at);
      const replacesValue = replaces.read(bytes, at);
      at += replaces.sizeAt(bytes, at);
      return {
        wallet: walletValue,
        market: marketValue,
        side: sideValue,
        type: typeValue,
        timeInForce: timeInForceValue,
        postOnly: postOnlyValue,
        leverage: leverageValue,
        priceTicks: priceTicksValue,
        clientOrderId: clientOrderIdValue,
        amount: amountValue,
        restricted: restrictedValue,
        expiresAfter: expiresAfterValue,
        checkedAt: checkedAtValue,
        filter: filterValue,
        mask: maskValue,
        digest: digestValue,
        first: firstValue,
        last: lastValue,
        replaces: replacesValue,
      };
    },
  }),
  PLACING_REPLY: ({ epoch, time }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = epoch.write(bytes, at, record.epoch);
      at = time.write(bytes, at, record.time);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const epochValue = epoch.read(bytes, at);
      at += epoch.sizeAt(bytes, at);
      const timeValue = time.read(bytes, at);
      at += time.sizeAt(bytes, at);
      return {
        epoch: epochValue,
        time: timeValue,
      };
    },
  }),
  SKIPPED_MAKERS: ({ order, makers }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = order.write(bytes, at, record.order);
      at = makers.write(bytes, at, record.makers);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const orderValue = order.read(bytes, at);
      at += order.sizeAt(bytes, at);
      const makersValue = makers.read(bytes, at);
      at += makers.sizeAt(bytes, at);
      return {
        order: orderValue,
        makers: makersValue,
      };
    },
  }),
  STATE: ({ epoch, sequence, time, trade, unsettled, claims }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = epoch.write(bytes, at, record.epoch);
      at = sequence.write(bytes, at, record.sequence);
      at = time.write(bytes, at, record.time);
      at = trade.write(bytes, at, record.trade);
      at = unsettled.write(bytes, at, record.unsettled);
      at = claims.write(bytes, at, record.claims);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const epochValue = epoch.read(bytes, at);
      at += epoch.sizeAt(bytes, at);
      const sequenceValue = sequence.read(bytes, at);
      at += sequence.sizeAt(bytes, at);
      const timeValue = time.read(bytes, at);
      at += time.sizeAt(bytes, at);
      const tradeValue = trade.read(bytes, at);
      at += trade.sizeAt(bytes, at);
      const unsettledValue = unsettled.read(bytes, at);
      at += unsettled.sizeAt(bytes, at);
      const claimsValue = claims.read(bytes, at);
      at += claims.sizeAt(bytes, at);
      return {
        epoch: epochValue,
        sequence: sequenceValue,
        time: timeValue,
        trade: tradeValue,
        unsettled: unsettledValue,
        claims: claimsValue,
      };
    },
  }),
  TERMS: ({ wallet, market, side, type, timeInForce, postOnly, leverage, priceTicks, clientOrderId }) => ({
    packInto(bytes: any, start: any, record: any) {
      let at = start;
      at = wallet.write(bytes, at, record.wallet);
      at = market.write(bytes, at, record.market);
      at = side.write(bytes, at, record.side);
      at = type.write(bytes, at, record.type);
      at = timeInForce.write(bytes, at, record.timeInForce);
      at = postOnly.write(bytes, at, record.postOnly);
      at = leverage.write(bytes, at, record.leverage);
      at = priceTicks.write(bytes, at, record.priceTicks);
      at = clientOrderId.write(bytes, at, record.clientOrderId);
      return at;
    },
    unpack(bytes: any, start: any) {
      let at = start;
      const walletValue = wallet.read(bytes, at);
      at += wallet.sizeAt(bytes, at);
      const marketValue = market.read(bytes, at);
      at += market.sizeAt(bytes, at);
      const sideValue = side.read(bytes, at);
      at += side.sizeAt(bytes, at);
      const typeValue = type.read(bytes, at);
      at += type.sizeAt(bytes, at);
      const timeInForceValue = timeInForce.read(bytes, at);
      at += timeInForce.sizeAt(bytes, at);
      const postOnlyValue = postOnly.read(bytes, at);
      at += postOnly.sizeAt(bytes, at);
      const leverageValue = leverage.read(bytes, at);
      at += leverage.sizeAt(bytes, at);
      const priceTicksValue = priceTicks.read(bytes, at);
      at += priceTicks.sizeAt(bytes, at);
      const clientOrderIdValue = clientOrderId.read(bytes, at);
      at += clientOrderId.sizeAt(bytes, at);
      return {
        wallet: walletValue,
        market: marketValue,
        side: sideValue,
        type: typeValue,
        timeInForce: timeInForceValue,
        postOnly: postOnlyValue,
        leverage: leverageValue,
        priceTicks: priceTicksValue,
        clientOrderId: clientOrderIdValue,
      };
    },
  }),
  changedOrder: ({ id, market, side, type, timeInForce, postOnly, priceTicks, sizeSteps, filledSteps, status, reason, clientOrderId, createdAtMs, updatedAtMs, fillCount, sequence }) =>
    (a: any, b: any, c: any) => ({
      id: id(a, b, c),
      market: market(a, b, c),
      side: side(a, b, c),
      type: type(a, b, c),
      timeInForce: timeInForce(a, b, c),
      postOnly: postOnly(a, b, c),
      priceTicks: priceTicks(a, b, c),
      sizeSteps: sizeSteps(a, b, c),
      filledSteps: filledSteps(a, b, c),
      status: status(a, b, c),
      reason: reason(a, b, c),
      clientOrderId: clientOrderId(a, b, c),
      createdAtMs: createdAtMs(a, b, c),
      updatedAtMs: updatedAtMs(a, b, c),
      fillCount: fillCount(a, b, c),
      sequence: sequence(a, b, c),
    }),
  loadedProgress: ({ id, sizeSteps, filledSteps, fillCount, status, updatedAtMs, updatedSequence, closedSequence, reason }) =>
    (a: any, b: any, c: any) => ({
      id: id(a, b, c),
      sizeSteps: sizeSteps(a, b, c),
      filledSteps: filledSteps(a, b, c),
      fillCount: fillCount(a, b, c),
      status: status(a, b, c),
      updatedAtMs: updatedAtMs(a, b, c),
      updatedSequence: updatedSequence(a, b, c),
      closedSequence: closedSequence(a, b, c),
      reason: reason(a, b, c),
    }),
  orderMembers: ({ remainingSteps, fillCount, fills }, { id: writeId, market: writeMarket, side: writeSide, type: writeType, timeInForce: writeTimeInForce, postOnly: writePostOnly, priceTicks: writePriceTicks, sizeSteps: writeSizeSteps, filledSteps: writeFilledSteps, remainingSteps: writeRemainingSteps, status: writeStatus, reason: writeReason, clientOrderId: writeClientOrderId, createdAtMs: writeCreatedAtMs, updatedAtMs: writeUpdatedAtMs, fillCount: writeFillCount, fills: writeFills }) =>
    (a: any, b: any, c: any) =>
      "\"id\":" + writeId(a.id, c) +
      ",\"market\":" + writeMarket(a.market, c) +
      ",\"side\":" + writeSide(a.side, c) +
      ",\"type\":" + writeType(a.type, c) +
      ",\"timeInForce\":" + writeTimeInForce(a.timeInForce, c) +
      ",\"postOnly\":" + writePostOnly(a.postOnly, c) +
      ",\"price\":" + writePriceTicks(a.priceTicks, c) +
      ",\"size\":" + writeSizeSteps(a.sizeSteps, c) +
      ",\"filledSize\":" + writeFilledSteps(a.filledSteps, c) +
      ",\"remainingSize\":" + writeRemainingSteps(remainingSteps(a, b, c), c) +
      ",\"status\":" + writeStatus(a.status, c) +
      ",\"reason\":" + writeReason(a.reason, c) +
      ",\"clientOrderId\":" + writeClientOrderId(a.clientOrderId, c) +
      ",\"createdAt\":" + writeCreatedAtMs(a.createdAtMs, c) +
      ",\"updatedAt\":" + writeUpdatedAtMs(a.updatedAtMs, c) +
      ",\"fillCount\":" + writeFillCount(fillCount(a, b, c), c) +
      ",\"fills\":" + writeFills(fills(a, b, c), c),
  packedOrder: ({ wallet, market, type, priceTicks, amount, restricted, expiresAfter, checkedAt, filter, mask, digest, first, last, replaces }) =>
    (a: any, b: any, c: any) => ({
      wallet: wallet(a, b, c),
      market: market(a, b, c),
      side: a.command.request.side,
      type: type(a, b, c),
      timeInForce: a.command.request.timeInForce,
      postOnly: a.command.request.postOnly,
      leverage: a.command.request.leverage,
      priceTicks: priceTicks(a, b, c),
      clientOrderId: a.command.request.clientOrderId,
      amount: amount(a, b, c),
      restricted: restricted(a, b, c),
      expiresAfter: expiresAfter(a, b, c),
      checkedAt: checkedAt(a, b, c),
      filter: filter(a, b, c),
      mask: mask(a, b, c),
      digest: digest(a, b, c),
      first: first(a, b, c),
      last: last(a, b, c),
      replaces: replaces(a, b, c),
    }),
  placedOrder: ({ market, type, id, sizeSteps, createdAtMs, sequence, units, status, reason, filledSteps, updatedAtMs }) =>
    (a: any, b: any, c: any) => ({
      wallet: a.wallet,
      market: market(a, b, c),
      side: a.side,
      type: type(a, b, c),
      timeInForce: a.timeInForce,
      postOnly: a.postOnly,
      leverage: a.leverage,
      priceTicks: a.priceTicks,
      clientOrderId: a.clientOrderId,
      id: id(a, b, c),
      sizeSteps: sizeSteps(a, b, c),
      createdAtMs: createdAtMs(a, b, c),
      sequence: sequence(a, b, c),
      units: units(a, b, c),
      status: status(a, b, c),
      reason: reason(a, b, c),
      filledSteps: filledSteps(a, b, c),
      updatedAtMs: updatedAtMs(a, b, c),
    }),
  placedTerms: ({ market, type, id, sizeSteps, createdAtMs, sequence, units }) =>
    (a: any, b: any, c: any) => ({
      wallet: a.wallet,
      market: market(a, b, c),
      side: a.side,
      type: type(a, b, c),
      timeInForce: a.timeInForce,
      postOnly: a.postOnly,
      leverage: a.leverage,
      priceTicks: a.priceTicks,
      clientOrderId: a.clientOrderId,
      id: id(a, b, c),
      sizeSteps: sizeSteps(a, b, c),
      createdAtMs: createdAtMs(a, b, c),
      sequence: sequence(a, b, c),
      units: units(a, b, c),
    }),
  placedText: ({ rejectReason }, { id: writeId, wallet: writeWallet, market: writeMarket, side: writeSide, type: writeType, timeInForce: writeTimeInForce, postOnly: writePostOnly, priceTicks: writePriceTicks, sizeSteps: writeSizeSteps, createdAtMs: writeCreatedAtMs, sequence: writeSequence, units: writeUnits, rejectReason: writeRejectReason, clientOrderId: writeClientOrderId }) =>
    (a: any, b: any, c: any) =>
      "" + writeId(a.terms.id, c) +
      "\t" + writeWallet(a.terms.wallet, c) +
      "\t" + writeMarket(a.terms.market, c) +
      "\t" + writeSide(a.terms.side, c) +
      "\t" + writeType(a.terms.type, c) +
      "\t" + writeTimeInForce(a.terms.timeInForce, c) +
      "\t" + writePostOnly(a.terms.postOnly, c) +
      "\t" + writePriceTicks(a.terms.priceTicks, c) +
      "\t" + writeSizeSteps(a.terms.sizeSteps, c) +
      "\t" + writeCreatedAtMs(a.terms.createdAtMs, c) +
      "\t" + writeSequence(a.terms.sequence, c) +
      "\t" + writeUnits(a.terms.units, c) +
      "\t" + writeRejectReason(rejectReason(a, b, c), c) +
      "\t" + writeClientOrderId(a.terms.clientOrderId, c),
  progressText: ({ reason }, { filledSteps: writeFilledSteps, fillCount: writeFillCount, status: writeStatus, updatedAtMs: writeUpdatedAtMs, updatedSequence: writeUpdatedSequence, closedSequence: writeClosedSequence, reason: writeReason }) =>
    (a: any, b: any, c: any) =>
      "" + writeFilledSteps(a.progress.filledSteps, c) +
      "\t" + writeFillCount(a.progress.fillCount, c) +
      "\t" + writeStatus(a.progress.status, c) +
      "\t" + writeUpdatedAtMs(a.progress.updatedAtMs, c) +
      "\t" + writeUpdatedSequence(a.progress.updatedSequence, c) +
      "\t" + writeClosedSequence(a.progress.closedSequence, c) +
      "\t" + writeReason(reason(a, b, c), c),
  restInChain: ({  }, { leverage: writeLeverage }) =>
    (a: any, _b: any, c: any) =>
      "" + writeLeverage(a.terms.leverage, c),
  restOfPlaced: ({  }, { leverage: writeLeverage }) =>
    (a: any, _b: any, c: any) =>
      "" + writeLeverage(a.terms.leverage, c),
  sentTerms: ({ wallet, market, type, priceTicks }) =>
    (a: any, b: any, c: any) => ({
      wallet: wallet(a, b, c),
      market: market(a, b, c),
      side: a.command.request.side,
      type: type(a, b, c),
      timeInForce: a.command.request.timeInForce,
      postOnly: a.command.request.postOnly,
      leverage: a.command.request.leverage,
      priceTicks: priceTicks(a, b, c),
      clientOrderId: a.command.request.clientOrderId,
    }),
  settledOrder: ({ id, market, side, type, timeInForce, postOnly, priceTicks, sizeSteps, filledSteps, status, reason, clientOrderId, createdAtMs, updatedAtMs, fillCount, sequence, fills }) =>
    (a: any, b: any, c: any) => ({
      id: id(a, b, c),
      market: market(a, b, c),
      side: side(a, b, c),
      type: type(a, b, c),
      timeInForce: timeInForce(a, b, c),
      postOnly: postOnly(a, b, c),
      priceTicks: priceTicks(a, b, c),
      sizeSteps: sizeSteps(a, b, c),
      filledSteps: filledSteps(a, b, c),
      status: status(a, b, c),
      reason: reason(a, b, c),
      clientOrderId: clientOrderId(a, b, c),
      createdAtMs: createdAtMs(a, b, c),
      updatedAtMs: updatedAtMs(a, b, c),
      fillCount: fillCount(a, b, c),
      sequence: sequence(a, b, c),
      fills: fills(a, b, c),
    }),
  stillMembers: ({ remainingSteps, fillCount, fills }, { id: writeId, market: writeMarket, side: writeSide, type: writeType, timeInForce: writeTimeInForce, postOnly: writePostOnly, priceTicks: writePriceTicks, sizeSteps: writeSizeSteps, filledSteps: writeFilledSteps, remainingSteps: writeRemainingSteps, reason: writeReason, clientOrderId: writeClientOrderId, createdAtMs: writeCreatedAtMs, updatedAtMs: writeUpdatedAtMs, fillCount: writeFillCount, fills: writeFills }) =>
    (a: any, b: any, c: any) =>
      "\"id\":" + writeId(a.id, c) +
      ",\"market\":" + writeMarket(a.market, c) +
      ",\"side\":" + writeSide(a.side, c) +
      ",\"type\":" + writeType(a.type, c) +
      ",\"timeInForce\":" + writeTimeInForce(a.timeInForce, c) +
      ",\"postOnly\":" + writePostOnly(a.postOnly, c) +
      ",\"price\":" + writePriceTicks(a.priceTicks, c) +
      ",\"size\":" + writeSizeSteps(a.sizeSteps, c) +
      ",\"filledSize\":" + writeFilledSteps(a.filledSteps, c) +
      ",\"remainingSize\":" + writeRemainingSteps(remainingSteps(a, b, c), c) +
      ",\"reason\":" + writeReason(a.reason, c) +
      ",\"clientOrderId\":" + writeClientOrderId(a.clientOrderId, c) +
      ",\"createdAt\":" + writeCreatedAtMs(a.createdAtMs, c) +
      ",\"updatedAt\":" + writeUpdatedAtMs(a.updatedAtMs, c) +
      ",\"fillCount\":" + writeFillCount(fillCount(a, b, c), c) +
      ",\"fills\":" + writeFills(fills(a, b, c), c),
};
